package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// adminToken is known to everybody: the server can be reached from this machine
// only and lives for minutes.
const adminToken = "oracle"

// runAPIServer runs kube-apiserver with its defaults, except for what a control
// plane without nodes on one machine needs. It also writes the kubeconfig.
func runAPIServer(dir string, port, etcdPort int) error {
	key := filepath.Join(dir, "service-account.key")
	if err := writeKey(key); err != nil {
		return err
	}
	tokens := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(adminToken+",admin,admin,system:masters\n"), 0o600); err != nil {
		return err
	}
	if err := writeKubeconfig(filepath.Join(dir, "kubeconfig"), port); err != nil {
		return err
	}
	command := app.NewAPIServerCommand()
	command.SetArgs([]string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", etcdPort),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + filepath.Join(dir, "certificates"),
		"--token-auth-file=" + tokens,
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://oracle.invalid",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		// Services are found by their endpoints, as k3s does it: nobody routes their addresses here.
		"--enable-aggregator-routing=true",
		// Whoever reads the record wants to read the objects.
		"--storage-media-type=application/json",
		"--profiling=false",
		"--enable-logs-handler=false",
		"--event-ttl=1h",
		"--shutdown-delay-duration=0s",
		"-v=0",
	})
	return command.Execute()
}

func writeKubeconfig(path string, port int) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: oracle
contexts: [{name: oracle, context: {cluster: oracle, user: oracle}}]
clusters: [{name: oracle, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
users: [{name: oracle, user: {token: %s}}]
`, port, adminToken)
	return os.WriteFile(path, []byte(text), 0o600)
}

func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
