package world

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"firstpass.dev/oracle/internal/scenario"
)

// untilLimit is how long an "until" may take unless the step says so.
const untilLimit = 3 * time.Minute

// do carries out one step.
func (w *World) do(ctx context.Context, step scenario.Step) error {
	switch step.Verb {
	case "push":
		number, err := strconv.Atoi(step.Arg(0))
		if err != nil {
			return err
		}
		return w.sources.push(number, step.Arg(1))
	case "stop", "start":
		w.sources.mutex.Lock()
		w.sources.stopped = step.Verb == "stop"
		w.sources.mutex.Unlock()
		return nil
	case "wait":
		span, err := time.ParseDuration(step.Arg(0))
		if err != nil {
			return err
		}
		return pause(ctx, span)
	case "until":
		return w.until(ctx, step)
	case "restart":
		return w.restart(ctx, step.Arg(0))
	case "apply":
		return w.api.apply(ctx, step.Body, "kubectl")
	}
	ref, err := parseReference(step.Arg(0))
	if err != nil {
		return err
	}
	switch step.Verb {
	case "delete":
		return w.api.delete(ctx, ref)
	case "patch":
		return w.api.patch(ctx, ref, step.Body, "kubectl-edit", "")
	case "status":
		return w.api.patch(ctx, ref, map[string]any{"status": step.Body}, "kubelet", "status")
	case "suspend", "resume":
		body := map[string]any{"spec": map[string]any{"suspend": step.Verb == "suspend"}}
		return w.api.patch(ctx, ref, body, "flux", "")
	case "request":
		annotations := map[string]any{"reconcile.fluxcd.io/requestedAt": strconv.Itoa(w.requests)}
		w.requests++
		return w.api.patch(ctx, ref, map[string]any{"metadata": map[string]any{"annotations": annotations}}, "flux", "")
	}
	return errors.New("no such step")
}

// until waits for one of
//
//	until Kind/ns/name exists|gone
//	until Kind/ns/name Ready=True|False [reason] [at N]
//
// polling like a person with a script.
func (w *World) until(ctx context.Context, step scenario.Step) error {
	ref, err := parseReference(step.Arg(0))
	if err != nil {
		return err
	}
	limit := time.Now().Add(untilLimit)
	for {
		object, err := w.api.get(ctx, ref)
		if holds(object, err, step.Args[1:]) {
			return nil
		}
		for _, running := range w.flux {
			if running.hasEnded() {
				return fmt.Errorf("%s ended by itself; see its log", running.name)
			}
		}
		if time.Now().After(limit) {
			return errors.New("it did not come to that")
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func holds(object *unstructured.Unstructured, err error, want []string) bool {
	switch want[0] {
	case "exists":
		return err == nil
	case "gone":
		return apierrors.IsNotFound(err) || err != nil && strings.Contains(err.Error(), "no matches for kind")
	}
	if err != nil {
		return false
	}
	kind, value, _ := strings.Cut(want[0], "=")
	reason, revision := "", ""
	for index := 1; index < len(want); index++ {
		if want[index] == "at" && index+1 < len(want) {
			number, _ := strconv.Atoi(want[index+1])
			revision = fmt.Sprintf("main@sha1:%040x", number)
			index++
			continue
		}
		reason = want[index]
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] != kind || condition["status"] != value {
			continue
		}
		if reason != "" && condition["reason"] != reason {
			continue
		}
		attempted, _, _ := unstructured.NestedString(object.Object, "status", "lastAttemptedRevision")
		return revision == "" || attempted == revision
	}
	return false
}

func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}
