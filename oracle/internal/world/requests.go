package world

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// A Request is one line of a plan: what to ask the API server, already worked
// out by firstpass-oracle from a file of oracle/requests.
type Request struct {
	Verb   string         `json:"verb"`
	Object map[string]any `json:"object"`
	// Patch is the body of a merge patch, of the object or of its status.
	Patch       map[string]any `json:"patch"`
	Manager     string         `json:"manager"`
	Force       bool           `json:"force"`
	DryRun      bool           `json:"dry_run"`
	Propagation string         `json:"propagation"`
	UID         string         `json:"uid"`
	// State is what until waits for: exists, gone or established.
	State string `json:"state"`
	// Wait is a Go duration.
	Wait string `json:"wait"`
}

// An Answer is what the server said.
type Answer struct {
	// Code is the HTTP status; 0 if the client found no such kind.
	Code    int                        `json:"code"`
	Reason  string                     `json:"reason,omitempty"`
	Message string                     `json:"message,omitempty"`
	Object  *unstructured.Unstructured `json:"object,omitempty"`
	// Was says whether the object existed before.
	Was bool `json:"was"`
	// Unchanged says that the answer is the object as it was before.
	Unchanged bool `json:"unchanged,omitempty"`
}

// Ask puts plans (NAME.plan.jsonl) to one control plane, one after the other,
// and writes what it answers to out/NAME.answers.jsonl. What a plan made is
// deleted at its end.
func Ask(ctx context.Context, plans []string, places Places, out string) (err error) {
	w := &World{places: places}
	if w.directory, err = os.MkdirTemp("", "oracle-"); err != nil {
		return err
	}
	defer os.RemoveAll(w.directory)
	w.logs = filepath.Join(places.Logs, "requests")
	if err := os.MkdirAll(w.logs, 0o755); err != nil {
		return err
	}
	defer w.stop()
	if err := w.startCluster(ctx, filepath.Join(w.directory, "changes.jsonl")); err != nil {
		return fmt.Errorf("control plane: %w", err)
	}
	if err := w.untilAccountExists(ctx); err != nil {
		return err
	}
	for _, path := range plans {
		name := strings.TrimSuffix(filepath.Base(path), ".plan.jsonl")
		began := time.Now()
		if err := w.askAll(ctx, path, filepath.Join(out, name+".answers.jsonl")); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(os.Stderr, "%-50s %6.1fs\n", name, time.Since(began).Seconds())
	}
	return nil
}

// untilAccountExists waits for the default namespace to be complete.
func (w *World) untilAccountExists(ctx context.Context) error {
	return poll(ctx, time.Minute, func() (bool, error) {
		ref, err := parseReference("ServiceAccount/default/default")
		if err != nil {
			return false, err
		}
		_, err = w.api.get(ctx, ref)
		return err == nil, nil
	})
}

func (w *World) askAll(ctx context.Context, plan, out string) error {
	text, err := os.ReadFile(plan)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	encoder := json.NewEncoder(file)
	encoder.SetEscapeHTML(false)
	var made []unstructured.Unstructured
	for number, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		request, err := w.api.read(ctx, line)
		if err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		answer, err := w.api.ask(ctx, request)
		if err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		if answer.Object != nil && !answer.Was && !request.DryRun {
			made = append(made, *answer.Object)
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	w.api.clean(ctx, made)
	return nil
}

// read reads a line of a plan. In place of the texts of uids come the uids of
// the objects as they are now.
func (a *api) read(ctx context.Context, line string) (Request, error) {
	var named struct {
		UIDs map[string]map[string]any `json:"uids"`
	}
	var request Request
	if err := json.Unmarshal([]byte(line), &named); err != nil {
		return request, err
	}
	for text, object := range named.UIDs {
		item := unstructured.Unstructured{Object: object}
		kind := item.GroupVersionKind()
		mapping, err := a.resource(kind.GroupKind(), kind.Version)
		if err != nil {
			return request, err
		}
		found, err := a.of(mapping, item.GetNamespace()).Get(ctx, item.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return request, err
		}
		line = strings.ReplaceAll(line, text, string(found.GetUID()))
	}
	return request, json.Unmarshal([]byte(line), &request)
}

// ask puts one request. An error means that the plan cannot go on; a refusal is
// an answer.
func (a *api) ask(ctx context.Context, request Request) (Answer, error) {
	if request.Verb == "wait" {
		span, err := time.ParseDuration(request.Wait)
		if err != nil {
			return Answer{}, err
		}
		return Answer{Code: http.StatusOK}, pause(ctx, span)
	}
	item := unstructured.Unstructured{Object: request.Object}
	kind := item.GroupVersionKind()
	if request.Verb == "until" {
		return Answer{Code: http.StatusOK}, a.untilState(ctx, item, request.State)
	}
	mapping, err := a.resource(kind.GroupKind(), kind.Version)
	if err != nil {
		if meta.IsNoMatchError(err) {
			return Answer{Message: err.Error()}, nil
		}
		return Answer{}, err
	}
	resource := a.of(mapping, item.GetNamespace())
	before, _ := resource.Get(ctx, item.GetName(), metav1.GetOptions{})
	after, err := send(ctx, resource, request, item, before)
	answer := Answer{Code: http.StatusOK, Object: after, Was: before != nil}
	if err != nil {
		status, ok := err.(apierrors.APIStatus)
		if !ok {
			if ctx.Err() != nil {
				return Answer{}, err
			}
			// The client itself refused, or the server broke off.
			return Answer{Message: err.Error(), Was: before != nil}, nil
		}
		said := status.Status()
		return Answer{Code: int(said.Code), Reason: string(said.Reason), Message: said.Message, Was: before != nil}, nil
	}
	if before != nil && after != nil {
		answer.Unchanged = reflect.DeepEqual(timeless(before), timeless(after))
	}
	return answer, nil
}

func send(ctx context.Context, resource dynamic.ResourceInterface, request Request,
	item unstructured.Unstructured, before *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	var dryRun []string
	if request.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	name := item.GetName()
	switch request.Verb {
	case "get":
		return resource.Get(ctx, name, metav1.GetOptions{})
	case "apply":
		data, err := json.Marshal(request.Object)
		if err != nil {
			return nil, err
		}
		return resource.Patch(ctx, name, types.ApplyPatchType, data,
			metav1.PatchOptions{FieldManager: request.Manager, Force: &request.Force, DryRun: dryRun})
	case "create":
		return resource.Create(ctx, &item, metav1.CreateOptions{FieldManager: request.Manager})
	case "update", "update-status":
		if before != nil && item.GetResourceVersion() == "" {
			item.SetResourceVersion(before.GetResourceVersion())
		}
		options := metav1.UpdateOptions{FieldManager: request.Manager}
		if request.Verb == "update" {
			return resource.Update(ctx, &item, options)
		}
		return resource.UpdateStatus(ctx, &item, options)
	case "patch", "status":
		body, subresources := request.Patch, []string(nil)
		if request.Verb == "status" {
			body, subresources = map[string]any{"status": request.Patch}, []string{"status"}
		}
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		return resource.Patch(ctx, name, types.MergePatchType, data,
			metav1.PatchOptions{FieldManager: request.Manager}, subresources...)
	case "delete":
		propagation := metav1.DeletionPropagation(request.Propagation)
		options := metav1.DeleteOptions{PropagationPolicy: &propagation}
		if request.UID != "" {
			uid := types.UID(request.UID)
			options.Preconditions = &metav1.Preconditions{UID: &uid}
		}
		if err := resource.Delete(ctx, name, options); err != nil {
			return nil, err
		}
		after, err := resource.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return after, err
	}
	return nil, apierrors.NewBadRequest("no such verb: " + request.Verb)
}

// untilState waits until an object exists, is gone, or (a CRD) is established
// and served.
func (a *api) untilState(ctx context.Context, item unstructured.Unstructured, state string) error {
	kind := item.GroupVersionKind()
	return poll(ctx, 2*time.Minute, func() (bool, error) {
		mapping, err := a.resource(kind.GroupKind(), kind.Version)
		if err != nil {
			return state == "gone", nil
		}
		found, err := a.of(mapping, item.GetNamespace()).Get(ctx, item.GetName(), metav1.GetOptions{})
		if err != nil {
			return state == "gone" && apierrors.IsNotFound(err), nil
		}
		if state != "established" {
			return state == "exists", nil
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, condition := range conditions {
			if fields, ok := condition.(map[string]any); ok && fields["type"] == "Established" && fields["status"] == "True" {
				// Discovery and the handler follow the condition in a moment.
				return true, pause(ctx, 1500*time.Millisecond)
			}
		}
		return false, nil
	})
}

// clean deletes objects, the last one first, whatever holds them.
func (a *api) clean(ctx context.Context, made []unstructured.Unstructured) {
	now := int64(0)
	background := metav1.DeletePropagationBackground
	for index := len(made) - 1; index >= 0; index-- {
		item := made[index]
		kind := item.GroupVersionKind()
		mapping, err := a.resource(kind.GroupKind(), kind.Version)
		if err != nil {
			continue
		}
		resource := a.of(mapping, item.GetNamespace())
		_ = resource.Delete(ctx, item.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background})
		if kind.Kind != "Namespace" && kind.Kind != "CustomResourceDefinition" {
			_, _ = resource.Patch(ctx, item.GetName(), types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
}

// timeless is an object without what every write touches.
func timeless(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy()
	unstructured.RemoveNestedField(copied.Object, "metadata", "resourceVersion")
	entries, _, _ := unstructured.NestedSlice(copied.Object, "metadata", "managedFields")
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok {
			delete(fields, "time")
		}
	}
	if entries != nil {
		_ = unstructured.SetNestedSlice(copied.Object, entries, "metadata", "managedFields")
	}
	return copied.Object
}
