package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

const (
	readyTimeout = 2 * time.Minute
	readyPoll    = 100 * time.Millisecond
	// reportEvery is the interval of progress reports while nothing changes.
	reportEvery = 5 * time.Second
)

// apply applies the examples and waits until they run in all their clusters.
func (d *demo) apply(ctx context.Context, f *fleet.Fleet) error {
	templates, err := readTemplates(d.examples)
	if err != nil {
		return err
	}
	if _, err := f.Kubectl(ctx, fleet.HubName, "apply", "--recursive", "-f", d.examples); err != nil {
		return fmt.Errorf("applying the examples: %w", err)
	}
	d.report("%d objects applied to the hub, with the policies that say where they go", len(templates))
	hub, err := f.Client(fleet.HubName)
	if err != nil {
		return err
	}
	return d.await(ctx, hub, templates)
}

// readTemplates returns the templates among the examples' objects: all but the policies.
func readTemplates(dir string) ([]*unstructured.Unstructured, error) {
	var templates []*unstructured.Unstructured
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
		for {
			obj := &unstructured.Unstructured{}
			if err := decoder.Decode(&obj.Object); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("reading %q: %w", path, err)
			}
			if len(obj.Object) > 0 && obj.GroupVersionKind().Group != policyv1alpha1.GroupVersion.Group {
				templates = append(templates, obj)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading the examples: %w", err)
	}
	return templates, nil
}

// await waits until all templates are applied and healthy in all their clusters, and reports what is missing until
// then.
func (d *demo) await(ctx context.Context, hub client.Client, templates []*unstructured.Unstructured) error {
	var missing []string
	last, lastAt := "", time.Now()
	err := wait.PollUntilContextTimeout(ctx, readyPoll, readyTimeout, true, func(ctx context.Context) (bool, error) {
		var now []string
		for _, template := range templates {
			if what := lacks(ctx, hub, template); what != "" {
				now = append(now, fmt.Sprintf("%s %s %s", strings.ToLower(template.GetKind()), template.GetName(), what))
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err() // the last request was cancelled
		}
		missing = now
		line := fmt.Sprintf("%d of %d objects are well in all their clusters", len(templates)-len(missing), len(templates))
		if line != last || time.Since(lastAt) > reportEvery {
			if last, lastAt = line, time.Now(); len(missing) > 0 {
				line += "; " + missing[0]
			}
			d.report("%s", line)
		}
		return len(missing) == 0, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the examples are not ready after %s:\n  %s", readyTimeout, strings.Join(missing, "\n  "))
	}
	return err
}

// lacks returns why a template is not yet healthy everywhere, in a few words; empty if it is.
func lacks(ctx context.Context, hub client.Client, template *unstructured.Unstructured) string {
	binding, err := getBinding(ctx, hub, template)
	if err != nil {
		return "has no binding: " + err.Error()
	}
	status := binding.BindingStatus()
	clusters := clustersOf(binding.BindingSpec())
	if clusters == 0 {
		return "is not scheduled: " + message(status, workv1alpha2.BindingScheduled)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, workv1alpha2.BindingFullyApplied) {
		return "is not applied: " + message(status, workv1alpha2.BindingFullyApplied)
	}
	if len(status.AggregatedStatus) < clusters {
		return "is not reported by all clusters"
	}
	for _, item := range status.AggregatedStatus {
		// Other kinds may stay unhealthy here: an Ingress has no load balancer.
		if !item.Applied || (item.Health != workv1alpha1.Healthy && runsPods(template)) {
			return strings.TrimSpace(fmt.Sprintf("is not well in %s %s", item.ClusterName, item.AppliedMessage))
		}
	}
	if template.GetKind() != "Deployment" {
		return ""
	}
	return lacksSum(ctx, hub, template, status)
}

// clustersOf returns the number of an object's clusters: those of its schedule, and those of templates that depend on
// it.
func clustersOf(spec *workv1alpha2.ResourceBindingSpec) int {
	seen := map[string]bool{}
	for _, target := range spec.Clusters {
		seen[target.Name] = true
	}
	for _, other := range spec.RequiredBy {
		for _, target := range other.Clusters {
			seen[target.Name] = true
		}
	}
	return len(seen)
}

func runsPods(template *unstructured.Unstructured) bool {
	return slices.Contains([]string{"Deployment", "StatefulSet"}, template.GetKind())
}

// lacksSum returns how the status of a Deployment on the hub differs from the sum of the members' reports; empty if it does not.
func lacksSum(ctx context.Context, hub client.Client, template *unstructured.Unstructured, status *workv1alpha2.ResourceBindingStatus) string {
	var want int64
	for _, item := range status.AggregatedStatus {
		var reported struct {
			ReadyReplicas int64 `json:"readyReplicas"`
		}
		if item.Status != nil && json.Unmarshal(item.Status.Raw, &reported) == nil {
			want += reported.ReadyReplicas
		}
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(template.GroupVersionKind())
	if err := hub.Get(ctx, client.ObjectKeyFromObject(template), live); err != nil {
		return err.Error()
	}
	if got, _, _ := unstructured.NestedInt64(live.Object, "status", "readyReplicas"); got != want {
		return fmt.Sprintf("shows %d of %d ready replicas", got, want)
	}
	return ""
}

func message(status *workv1alpha2.ResourceBindingStatus, condition string) string {
	if c := meta.FindStatusCondition(status.Conditions, condition); c != nil {
		return c.Message
	}
	return "nothing is reported yet"
}

func getBinding(ctx context.Context, hub client.Client, template *unstructured.Unstructured) (workv1alpha2.Binding, error) {
	key := client.ObjectKey{
		Namespace: template.GetNamespace(), Name: contract.BindingName(template.GetKind(), template.GetName()),
	}
	if key.Namespace == "" {
		binding := &workv1alpha2.ClusterResourceBinding{}
		return binding, hub.Get(ctx, key, binding)
	}
	binding := &workv1alpha2.ResourceBinding{}
	return binding, hub.Get(ctx, key, binding)
}
