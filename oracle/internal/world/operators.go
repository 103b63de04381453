package world

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"firstpass.dev/oracle/internal/knowledge"
	"firstpass.dev/oracle/internal/scenario"
)

// operators stands in for operators: it does what the knowledge files say they
// do, so that the same knowledge drives this world and the simulated one. Of
// the format it follows what scenarios use: at_start, on_object, kinds, objects
// and status writes.
type operators struct {
	api       *api
	knowledge *knowledge.Knowledge
	scenario  *scenario.Scenario
	started   map[string]bool
	seen      map[string]bool
	// namespaces are those that the operators run in.
	namespaces map[string]string
	tasks      sync.WaitGroup
}

func (o *operators) run(ctx context.Context) {
	for ctx.Err() == nil {
		o.lookForWorkloads(ctx)
		for _, operator := range o.knowledge.Operators {
			if o.started[operator.Name] {
				o.lookForObjects(ctx, operator)
			}
		}
		_ = pause(ctx, 200*time.Millisecond)
	}
	o.tasks.Wait()
}

// lookForWorkloads starts the operators whose workloads have become available.
func (o *operators) lookForWorkloads(ctx context.Context) {
	items, err := o.api.list(ctx, schema.GroupKind{Group: "apps", Kind: "Deployment"})
	if err != nil {
		return
	}
	for _, item := range items {
		if available, _, _ := unstructured.NestedInt64(item.Object, "status", "availableReplicas"); available == 0 {
			continue
		}
		for _, operator := range o.knowledge.Operators {
			if o.started[operator.Name] || !operator.RunsIn(item.GetName(), images(&item)) {
				continue
			}
			o.started[operator.Name] = true
			o.namespaces[operator.Name] = item.GetNamespace()
			o.tasks.Go(func() { o.carryOut(ctx, operator, operator.AtStart, nil, nil) })
		}
	}
}

func images(workload *unstructured.Unstructured) []string {
	var found []string
	containers, _, _ := unstructured.NestedSlice(workload.Object, "spec", "template", "spec", "containers")
	for _, item := range containers {
		container, _ := item.(map[string]any)
		image, _ := container["image"].(string)
		found = append(found, image)
	}
	return found
}

func (o *operators) lookForObjects(ctx context.Context, operator *knowledge.Operator) {
	for _, kind := range o.knowledge.KindsOf(operator) {
		items, err := o.api.list(ctx, kind.GroupKind())
		if err != nil {
			continue
		}
		for _, item := range items {
			key := fmt.Sprintf("%s %s %d", operator.Name, item.GetUID(), item.GetGeneration())
			if o.seen[key] {
				continue
			}
			o.seen[key] = true
			object := item
			o.tasks.Go(func() { o.reconcile(ctx, operator, kind, &object) })
		}
	}
}

// reconcile brings about the effects of an object, and writes its status; a
// write that comes after effects waits for them.
func (o *operators) reconcile(ctx context.Context, operator *knowledge.Operator, kind *knowledge.Kind, object *unstructured.Unstructured) {
	before := map[string]*sync.WaitGroup{}
	effects := operator.EffectsOf(kind.GroupKind())
	for _, effect := range effects {
		if effect.BeforeStatus != "" {
			if before[effect.BeforeStatus] == nil {
				before[effect.BeforeStatus] = &sync.WaitGroup{}
			}
			before[effect.BeforeStatus].Add(1)
		}
	}
	o.tasks.Go(func() { o.carryOut(ctx, operator, effects, object, before) })
	if kind.Controller != operator.Name {
		return
	}
	status := map[string]any{}
	for _, write := range kind.Status {
		if pause(ctx, o.scenario.Delay(write.After)) != nil {
			return
		}
		if group := before[write.Name]; write.Name != "" && group != nil {
			group.Wait()
		}
		maps.Copy(status, write.Set)
		filled := knowledge.Fill(status, object.Object, nil, now())
		ref := reference{kind: kind.GroupKind(), namespace: object.GetNamespace(), name: object.GetName()}
		_ = o.api.patch(ctx, ref, map[string]any{"status": filled}, operator.Name, "status")
	}
}

func (o *operators) carryOut(ctx context.Context, operator *knowledge.Operator, effects []knowledge.Effect, object *unstructured.Unstructured, before map[string]*sync.WaitGroup) {
	var source map[string]any
	if object != nil {
		source = object.Object
	}
	for _, effect := range effects {
		if pause(ctx, o.scenario.Delay(effect.After)) == nil {
			for _, name := range effect.Kinds {
				for _, kind := range o.knowledge.KindsMatching(name) {
					o.bring(ctx, operator, kind.CRD())
				}
			}
			for _, brought := range effect.Objects {
				for _, each := range o.each(ctx, brought.ForEach) {
					filled, _ := knowledge.Fill(brought.Manifest, source, each, now()).(map[string]any)
					o.bring(ctx, operator, filled)
				}
			}
			for _, workload := range effect.Workloads {
				o.bring(ctx, operator, workload.Manifest(o.namespaces[operator.Name]))
			}
		}
		if effect.BeforeStatus != "" && before != nil {
			before[effect.BeforeStatus].Done()
		}
	}
}

// each lists the objects of a kind that an object is brought for; one nameless
// object if it is brought once.
func (o *operators) each(ctx context.Context, kind string) []map[string]any {
	if kind == "" {
		return []map[string]any{nil}
	}
	group, name, _ := strings.Cut(kind, "/")
	items, err := o.api.list(ctx, schema.GroupKind{Group: group, Kind: name})
	if err != nil {
		return nil
	}
	var objects []map[string]any
	for _, item := range items {
		objects = append(objects, item.Object)
	}
	return objects
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// bring applies an object, again every second while it is refused.
func (o *operators) bring(ctx context.Context, operator *knowledge.Operator, object map[string]any) {
	for range 60 {
		err := o.api.apply(ctx, object, operator.Name)
		if err == nil || strings.Contains(err.Error(), "is invalid") || pause(ctx, time.Second) != nil {
			return
		}
	}
}
