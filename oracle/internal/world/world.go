// Package world is a real cluster for the length of one scenario: a control
// plane, Flux's controllers, and stand-ins for what a machine without nodes
// lacks. Everything is a process or a goroutine of this run, listens on
// loopback, and ends with it.
package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/yaml"

	"firstpass.dev/oracle/internal/knowledge"
	"firstpass.dev/oracle/internal/scenario"
)

// Places is where things are.
type Places struct {
	// Programs holds the built programs and the directory crds.
	Programs string
	// Knowledge is the directory of firstpass's knowledge files.
	Knowledge string
	// Logs takes a directory per scenario with what the programs print.
	Logs string
}

// World is the running world.
type World struct {
	scenario *scenario.Scenario
	places   Places
	// directory holds everything that the run writes.
	directory string
	logs      string
	api       *api
	sources   *sources
	charts    *charts
	cluster   *program
	flux      map[string]*fluxProgram
	requests  int
	stopLoops context.CancelFunc
	loops     sync.WaitGroup
}

type fluxProgram struct {
	*program
	binary    string
	arguments []string
}

// Play plays a scenario and writes every change of every object to a file.
func Play(ctx context.Context, played *scenario.Scenario, places Places, record string) (err error) {
	w := &World{scenario: played, places: places, flux: map[string]*fluxProgram{}}
	if w.directory, err = os.MkdirTemp("", "oracle-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.directory)
	w.logs = filepath.Join(places.Logs, played.Name)
	if err := os.RemoveAll(w.logs); err != nil {
		return err
	}
	if err := os.MkdirAll(w.logs, 0o755); err != nil {
		return err
	}
	defer w.stop()
	if err := w.startCluster(ctx, record); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	if err := w.setStage(ctx); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	if err := w.startFlux(ctx); err != nil {
		return fmt.Errorf("flux: %w", err)
	}
	if err := w.mark(ctx, 0, "begin"); err != nil {
		return err
	}
	for _, object := range w.scenario.Seeds {
		if err := w.api.apply(ctx, object, "bootstrap"); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	for index, step := range w.scenario.Steps {
		if err := w.mark(ctx, index+1, step.Text); err != nil {
			return err
		}
		if err := w.do(ctx, step); err != nil {
			return fmt.Errorf("step %q: %w", step.Text, err)
		}
		for _, running := range w.flux {
			if running.hasEnded() {
				return fmt.Errorf("%s ended by itself", running.name)
			}
		}
	}
	return w.mark(ctx, len(w.scenario.Steps)+1, "end")
}

// mark puts a step into the record, in its place among the changes.
func (w *World) mark(ctx context.Context, number int, text string) error {
	return w.api.apply(ctx, map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": fmt.Sprintf("step-%03d", number), "namespace": "oracle-steps"},
		"data":     map[string]any{"step": text},
	}, "oracle")
}

func (w *World) startCluster(ctx context.Context, record string) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	// Calls to webhooks stay on this machine, whatever proxy there is.
	direct := []string{"HTTP_PROXY=", "HTTPS_PROXY=", "http_proxy=", "https_proxy=", "NO_PROXY=*", "no_proxy=*"}
	w.cluster, err = start("cluster", filepath.Join(w.logs, "cluster.log"), direct,
		filepath.Join(w.places.Programs, "cluster"),
		"-dir", w.directory, "-port", fmt.Sprint(ports[0]), "-etcd-port", fmt.Sprint(ports[1]),
		"-etcd-peer-port", fmt.Sprint(ports[2]), "-record", record)
	if err != nil {
		return err
	}
	client := http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		Timeout:   5 * time.Second,
	}
	err = poll(ctx, 4*time.Minute, func() (bool, error) {
		if w.cluster.hasEnded() {
			return false, errors.New("it ended before it was ready; see cluster.log")
		}
		response, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", ports[0]))
		if err != nil {
			return false, nil
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.directory, "kubeconfig"))
	if err != nil {
		return err
	}
	w.api, err = newAPI(config)
	return err
}

// setStage makes what is there before Flux starts: its kinds, its namespace, and
// what the scenario says.
func (w *World) setStage(ctx context.Context) error {
	kustomize := "kustomize-controller"
	if w.scenario.Flux == "2.7" {
		kustomize = "kustomize-controller-old"
	}
	for _, directory := range []string{kustomize, "source-controller", "helm-controller"} {
		files, err := filepath.Glob(filepath.Join(w.places.Programs, "crds", directory, "*.yaml"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no CRDs of %s: %v", directory, err)
		}
		for _, file := range files {
			if err := w.applyFile(ctx, file); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	for _, name := range []string{"flux-system", "oracle-steps", "default"} {
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}
		if err := w.applyPatiently(ctx, namespace, "bootstrap"); err != nil {
			return err
		}
	}
	for _, object := range w.scenario.Stage {
		if err := w.applyPatiently(ctx, object, "bootstrap"); err != nil {
			return err
		}
	}
	var err error
	if w.sources, err = serveSources(w.api, w.scenario.Revisions); err != nil {
		return err
	}
	if !w.scenario.Helm {
		w.scenario.Seeds = append([]map[string]any{{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
			"metadata": map[string]any{"name": "flux-system", "namespace": "flux-system"},
			"spec":     map[string]any{"interval": "1h", "url": "https://git.example.com/fleet.git"},
		}}, w.scenario.Seeds...)
	}
	if len(w.scenario.Charts) > 0 {
		if w.charts, err = serveCharts(w.scenario.Charts); err != nil {
			return err
		}
		repository := map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "HelmRepository",
			"metadata": map[string]any{"name": "charts", "namespace": "flux-system"},
			"spec":     map[string]any{"interval": "1h", "url": w.charts.url()},
		}
		w.scenario.Seeds = append([]map[string]any{repository}, w.scenario.Seeds...)
	}
	return w.startStandIns()
}

func (w *World) startStandIns() error {
	ctx, cancel := context.WithCancel(context.Background())
	w.stopLoops = cancel
	w.loops.Go(func() { w.sources.run(ctx) })
	if w.scenario.Workloads != "" {
		delay, err := time.ParseDuration(w.scenario.Workloads)
		if err != nil {
			return err
		}
		pods := &workloads{api: w.api, delay: delay, seen: map[seenKey]time.Time{}}
		w.loops.Go(func() { pods.run(ctx) })
	}
	texts := []string{w.scenario.Knowledge}
	for _, name := range w.scenario.Operators {
		text, err := os.ReadFile(filepath.Join(w.places.Knowledge, name))
		if err != nil {
			return err
		}
		texts = append(texts, string(text))
	}
	known, err := knowledge.Read(texts...)
	if err != nil {
		return err
	}
	if len(known.Operators) > 0 {
		standIn := &operators{
			api: w.api, knowledge: known, scenario: w.scenario,
			started: map[string]bool{}, seen: map[string]bool{}, namespaces: map[string]string{},
		}
		w.loops.Go(func() { standIn.run(ctx) })
	}
	return nil
}

func (w *World) applyFile(ctx context.Context, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, document := range strings.Split("\n"+string(text), "\n---") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return err
		}
		if object == nil {
			continue
		}
		if err := w.applyPatiently(ctx, object, "bootstrap"); err != nil {
			return err
		}
	}
	return nil
}

// applyPatiently tries until kinds that were just defined are served.
func (w *World) applyPatiently(ctx context.Context, object map[string]any, manager string) error {
	var last error
	err := poll(ctx, 30*time.Second, func() (bool, error) {
		last = w.api.apply(ctx, object, manager)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

func (w *World) stop() {
	if w.stopLoops != nil {
		w.stopLoops()
		w.loops.Wait()
	}
	for _, running := range w.flux {
		running.stop()
	}
	if w.sources != nil {
		w.sources.stop()
	}
	if w.charts != nil {
		w.charts.stop()
	}
	if w.cluster != nil {
		w.cluster.stop()
	}
}

func poll(ctx context.Context, limit time.Duration, done func() (bool, error)) error {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("it took too long")
}
