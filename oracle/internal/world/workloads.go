package world

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// workloads stands in for nodes and for the controllers of workloads: a while
// after a workload was stored, its status says that its pods are ready.
type workloads struct {
	api   *api
	delay time.Duration
	// seen is when a generation of a workload was first seen.
	seen map[seenKey]time.Time
}

type seenKey struct {
	uid        types.UID
	generation int64
}

var workloadKinds = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"}, {Group: "batch", Kind: "Job"},
}

func (w *workloads) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, kind := range workloadKinds {
			items, err := w.api.list(ctx, kind)
			if err != nil {
				continue
			}
			for _, item := range items {
				w.tend(ctx, kind, &item)
			}
		}
		_ = pause(ctx, 200*time.Millisecond)
	}
}

func (w *workloads) tend(ctx context.Context, kind schema.GroupKind, item *unstructured.Unstructured) {
	key := seenKey{item.GetUID(), item.GetGeneration()}
	first, known := w.seen[key]
	if !known {
		w.seen[key] = time.Now()
		return
	}
	if first.IsZero() || time.Since(first) < w.delay || item.GetDeletionTimestamp() != nil {
		return
	}
	ref := reference{kind: kind, namespace: item.GetNamespace(), name: item.GetName()}
	if w.api.patch(ctx, ref, map[string]any{"status": readyStatus(kind.Kind, item)}, "kubelet", "status") == nil {
		w.seen[key] = time.Time{}
	}
}

func readyStatus(kind string, item *unstructured.Unstructured) map[string]any {
	now := time.Now().UTC().Format(time.RFC3339)
	condition := func(kind, reason string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": reason,
			"lastTransitionTime": now, "lastUpdateTime": now,
		}
	}
	replicas, found, _ := unstructured.NestedInt64(item.Object, "spec", "replicas")
	if !found {
		replicas = 1
	}
	status := map[string]any{"observedGeneration": item.GetGeneration()}
	switch kind {
	case "Deployment":
		for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"} {
			status[field] = replicas
		}
		status["conditions"] = []any{
			condition("Available", "MinimumReplicasAvailable"), condition("Progressing", "NewReplicaSetAvailable"),
		}
	case "StatefulSet":
		for _, field := range []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas"} {
			status[field] = replicas
		}
		status["currentRevision"], status["updateRevision"] = "1", "1"
	case "DaemonSet":
		for _, field := range []string{
			"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberReady", "numberAvailable",
		} {
			status[field] = 1
		}
		status["numberMisscheduled"] = 0
	case "Job":
		delete(status, "observedGeneration")
		status["startTime"], status["completionTime"], status["succeeded"] = now, now, 1
		criteria, complete := condition("SuccessCriteriaMet", "CompletionsReached"), condition("Complete", "CompletionsReached")
		delete(criteria, "lastUpdateTime")
		delete(complete, "lastUpdateTime")
		status["conditions"] = []any{criteria, complete}
	}
	return status
}
