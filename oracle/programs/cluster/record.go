package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// unseen are the stores that tell nothing about what Flux does.
var unseen = []string{
	"/registry/leases/", "/registry/masterleases/", "/registry/events/", "/registry/ranges/",
	"/registry/flowschemas/", "/registry/prioritylevelconfigurations/", "/registry/ipaddresses/",
	"/registry/servicecidrs/", "/registry/apiserver.openshift.io/", "/registry/health",
}

// A change is one line of the record: an object as it was stored, or that it is gone.
type change struct {
	Revision int64           `json:"revision"`
	At       float64         `json:"at"`
	Key      string          `json:"key"`
	Object   json.RawMessage `json:"object,omitempty"`
}

// record writes every change of every object, in the one order in which they
// were stored. Watches of the API server tell the same, kind by kind; here no
// kind that appears late is missed.
func record(ctx context.Context, store *embed.Etcd, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	client := v3client.New(store.Server)
	events := client.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithRev(1))
	go func() {
		defer file.Close()
		encoder := json.NewEncoder(file)
		encoder.SetEscapeHTML(false)
		for answer := range events {
			if err := answer.Err(); err != nil {
				fmt.Fprintln(os.Stderr, "record:", err)
				return
			}
			at := float64(time.Now().UnixMilli()) / 1000
			for _, event := range answer.Events {
				line := change{Revision: event.Kv.ModRevision, At: at, Key: string(event.Kv.Key)}
				if !isSeen(line.Key) {
					continue
				}
				if event.Type == clientv3.EventTypePut {
					value := bytes.TrimSpace(event.Kv.Value)
					if !json.Valid(value) {
						continue
					}
					line.Object = value
				}
				if err := encoder.Encode(line); err != nil {
					fmt.Fprintln(os.Stderr, "record:", err)
					return
				}
			}
		}
	}()
	return nil
}

func isSeen(key string) bool {
	for _, prefix := range unseen {
		if strings.HasPrefix(key, prefix) {
			return false
		}
	}
	return true
}
