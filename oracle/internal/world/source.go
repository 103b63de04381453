package world

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sources stands in for source-controller where only artifacts matter: it
// serves the revisions of a scenario over HTTP, and tells each GitRepository of
// the newest. Real source-controller ignores them in such runs (it is not
// started); what it writes is what it would write.
type sources struct {
	api      *api
	server   *http.Server
	address  string
	mutex    sync.Mutex
	archives [][]byte
	// current is the revision of all sources; own says otherwise for one.
	current int
	own     map[string]int
	stopped bool
}

func serveSources(api *api, revisions []map[string]string) (*sources, error) {
	s := &sources{api: api, own: map[string]int{}}
	for _, files := range revisions {
		archive, err := pack(files)
		if err != nil {
			return nil, err
		}
		s.archives = append(s.archives, archive)
	}
	if len(revisions) > 0 {
		s.current = 1
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.address = listener.Addr().String()
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve)}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *sources) serve(writer http.ResponseWriter, request *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var number int
	_, err := fmt.Sscanf(request.URL.Path, "/%d.tar.gz", &number)
	if err != nil || s.stopped || number < 1 || number > len(s.archives) {
		http.NotFound(writer, request)
		return
	}
	_, _ = writer.Write(s.archives[number-1])
}

// push moves all sources, or the one that is named.
func (s *sources) push(number int, name string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if number < 1 || number > len(s.archives) {
		return fmt.Errorf("there is no revision %d", number)
	}
	if name == "" {
		s.current = number
		s.own = map[string]int{}
	} else {
		s.own[name] = number
	}
	return nil
}

// run keeps the sources' status up to date until the context ends.
func (s *sources) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.update(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *sources) update(ctx context.Context) {
	items, err := s.api.list(ctx, schema.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository"})
	if err != nil {
		return
	}
	for _, item := range items {
		s.mutex.Lock()
		number := s.current
		if own, ok := s.own[item.GetName()]; ok {
			number = own
		}
		s.mutex.Unlock()
		if suspended, _, _ := unstructured.NestedBool(item.Object, "spec", "suspend"); suspended || number == 0 {
			continue
		}
		revision := fmt.Sprintf("main@sha1:%040x", number)
		have, _, _ := unstructured.NestedString(item.Object, "status", "artifact", "revision")
		observed, _, _ := unstructured.NestedInt64(item.Object, "status", "observedGeneration")
		if have == revision && observed == item.GetGeneration() {
			continue
		}
		ref := reference{
			kind:      schema.GroupKind{Group: "source.toolkit.fluxcd.io", Kind: "GitRepository"},
			namespace: item.GetNamespace(), name: item.GetName(),
		}
		_ = s.api.patch(ctx, ref, s.status(number, revision, item.GetGeneration()), "source-controller", "status")
	}
}

func (s *sources) status(number int, revision string, generation int64) map[string]any {
	archive := s.archives[number-1]
	now := time.Now().UTC().Format(time.RFC3339)
	message := fmt.Sprintf("stored artifact for revision '%s'", revision)
	condition := func(kind string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": "Succeeded", "message": message,
			"lastTransitionTime": now, "observedGeneration": generation,
		}
	}
	return map[string]any{"status": map[string]any{
		"observedGeneration": generation,
		"artifact": map[string]any{
			"path":           fmt.Sprintf("%d.tar.gz", number),
			"url":            fmt.Sprintf("http://%s/%d.tar.gz", s.address, number),
			"revision":       revision,
			"digest":         fmt.Sprintf("sha256:%x", sha256.Sum256(archive)),
			"lastUpdateTime": now,
			"size":           len(archive),
		},
		"conditions": []any{condition("Ready"), condition("ArtifactInStorage")},
	}}
}

func (s *sources) stop() { _ = s.server.Close() }

// pack makes the archive that source-controller would make of the files.
func pack(files map[string]string) ([]byte, error) {
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	made := map[string]bool{}
	for _, path := range paths {
		for at := strings.Index(path, "/"); at >= 0; {
			directory := path[:at+1]
			if !made[directory] {
				made[directory] = true
				header := &tar.Header{Name: directory, Typeflag: tar.TypeDir, Mode: 0o755}
				if err := archive.WriteHeader(header); err != nil {
					return nil, err
				}
			}
			next := strings.Index(path[at+1:], "/")
			if next < 0 {
				break
			}
			at += 1 + next
		}
		if strings.HasSuffix(path, "/.keep") {
			continue
		}
		header := &tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[path]))}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write([]byte(files[path])); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
