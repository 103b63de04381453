// Command cluster is a whole Kubernetes control plane in one process, as far as
// Flux needs one: etcd, kube-apiserver, and of kube-controller-manager the
// controllers that delete namespaces, collect garbage, make the default service
// account and release volume claims. There are no nodes and no workloads.
//
// Everything listens on loopback and lives below one directory, which the
// caller makes and removes. The process ends at SIGTERM.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func main() {
	dir := flag.String("dir", "", "directory for the data, the certificate and the kubeconfig")
	port := flag.Int("port", 0, "port of the API server on 127.0.0.1")
	etcdPort := flag.Int("etcd-port", 0, "port of etcd on 127.0.0.1")
	peerPort := flag.Int("etcd-peer-port", 0, "port on which etcd would serve its peers")
	events := flag.String("record", "", "file that takes every change of every object, a line of JSON each")
	flag.Parse()
	if *dir == "" || *port == 0 || *etcdPort == 0 || *peerPort == 0 {
		fmt.Fprintln(os.Stderr, "usage: cluster -dir DIR -port PORT -etcd-port PORT -etcd-peer-port PORT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, *dir, *events, *port, *etcdPort, *peerPort); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, events string, port, etcdPort, peerPort int) error {
	store, err := startEtcd(filepath.Join(dir, "etcd"), etcdPort, peerPort)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer store.Close()
	if events != "" {
		if err := record(ctx, store, events); err != nil {
			return fmt.Errorf("record: %w", err)
		}
	}

	failed := make(chan error, 1)
	go func() { failed <- runAPIServer(dir, port, etcdPort) }()

	config := &rest.Config{
		Host:            fmt.Sprintf("https://127.0.0.1:%d", port),
		BearerToken:     adminToken,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		QPS:             -1,
	}
	if err := waitUntilReady(ctx, config, failed); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := startControllers(ctx, config); err != nil {
		return fmt.Errorf("controllers: %w", err)
	}
	klog.Info("the control plane is up")
	select {
	case <-ctx.Done():
		// The API server drains for a long time; nobody needs what it holds.
		return nil
	case err := <-failed:
		return fmt.Errorf("kube-apiserver ended: %w", err)
	}
}

func waitUntilReady(ctx context.Context, config *rest.Config, failed <-chan error) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < 3*time.Minute; {
		response, err := client.Get(config.Host + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			return fmt.Errorf("ended before it was ready: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("not ready after three minutes")
}
