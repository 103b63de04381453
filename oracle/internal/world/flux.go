package world

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// startFlux starts the controllers that the scenario asks for, and waits until
// they are ready.
func (w *World) startFlux(ctx context.Context) error {
	kustomize := "kustomize-controller"
	if w.scenario.Flux == "2.7" {
		kustomize = "kustomize-controller-old"
	}
	arguments := append([]string{"--requeue-dependency=5s"}, w.scenario.Arguments...)
	if err := w.startController(ctx, "kustomize-controller", kustomize, arguments); err != nil {
		return err
	}
	if !w.scenario.Helm {
		return nil
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	storage := filepath.Join(w.directory, "storage")
	if err := os.Mkdir(storage, 0o755); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	err = w.startController(ctx, "source-controller", "source-controller", []string{
		"--storage-path=" + storage,
		"--storage-addr=" + address, "--storage-adv-addr=" + address, "--requeue-dependency=5s",
	})
	if err != nil {
		return err
	}
	return w.startController(ctx, "helm-controller", "helm-controller", []string{"--requeue-dependency=5s"})
}

func (w *World) startController(ctx context.Context, name, binary string, arguments []string) error {
	controller := &fluxProgram{binary: binary, arguments: arguments}
	w.flux[name] = controller
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	all := append([]string{
		"--watch-all-namespaces", "--enable-leader-election=false", "--log-level=info", "--log-encoding=json",
		"--interval-jitter-percentage=0",
		fmt.Sprintf("--metrics-addr=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("--health-addr=127.0.0.1:%d", ports[1]),
	}, arguments...)
	controller.program, err = start(name, filepath.Join(w.logs, name+".log"), []string{
		"KUBECONFIG=" + filepath.Join(w.directory, "kubeconfig"),
		"RUNTIME_NAMESPACE=flux-system",
		"HOME=" + w.directory,
		"TMPDIR=" + w.directory,
	}, filepath.Join(w.places.Programs, binary), all...)
	if err != nil {
		delete(w.flux, name)
		return err
	}
	return poll(ctx, 2*time.Minute, func() (bool, error) {
		if controller.hasEnded() {
			return false, fmt.Errorf("%s ended before it was ready; see its log", name)
		}
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]))
		if err != nil {
			return false, nil
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

func (w *World) restart(ctx context.Context, name string) error {
	controller, ok := w.flux[name]
	if !ok {
		return fmt.Errorf("no controller %q runs", name)
	}
	controller.stop()
	return w.startController(ctx, name, controller.binary, controller.arguments)
}
