package world

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// charts is a chart repository on loopback: an index and the packed charts of a
// scenario.
type charts struct {
	address string
	server  *http.Server
	files   map[string][]byte
}

func serveCharts(files map[string]string) (*charts, error) {
	byChart := map[string]map[string]string{}
	for path, content := range files {
		name, _, _ := strings.Cut(path, "/")
		if byChart[name] == nil {
			byChart[name] = map[string]string{}
		}
		byChart[name][path] = content
	}
	names := make([]string, 0, len(byChart))
	for name := range byChart {
		names = append(names, name)
	}
	sort.Strings(names)
	served := &charts{files: map[string][]byte{}}
	entries := map[string]any{}
	for _, directory := range names {
		var about map[string]any
		if err := yaml.Unmarshal([]byte(byChart[directory][directory+"/Chart.yaml"]), &about); err != nil {
			return nil, fmt.Errorf("%s/Chart.yaml: %w", directory, err)
		}
		archive, err := pack(byChart[directory])
		if err != nil {
			return nil, err
		}
		file := fmt.Sprintf("%s-%s.tgz", about["name"], about["version"])
		served.files["/"+file] = archive
		about["urls"] = []any{file}
		about["digest"] = fmt.Sprintf("%x", sha256.Sum256(archive))
		name, _ := about["name"].(string)
		list, _ := entries[name].([]any)
		entries[name] = append(list, about)
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
	if err != nil {
		return nil, err
	}
	served.files["/index.yaml"] = index
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	served.address = listener.Addr().String()
	served.server = &http.Server{Handler: http.HandlerFunc(served.serve)}
	go func() { _ = served.server.Serve(listener) }()
	return served, nil
}

func (c *charts) serve(writer http.ResponseWriter, request *http.Request) {
	content, ok := c.files[request.URL.Path]
	if !ok {
		http.NotFound(writer, request)
		return
	}
	_, _ = writer.Write(content)
}

func (c *charts) url() string { return "http://" + c.address }

func (c *charts) stop() { _ = c.server.Close() }
