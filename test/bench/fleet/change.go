package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// changeTimeout is how long one change may take.
const changeTimeout = 2 * time.Minute

// changing changes single templates, one after the other.
func (s *system) changing(ctx context.Context, at size, out *sheet) error {
	var works, statuses []time.Duration
	u, err := s.untilQuiet(ctx, func() error {
		for i := range s.changes {
			toWorks, toStatus, err := s.change(ctx, application(i*at.bindings/s.changes), fmt.Sprintf("%d.%d", at.bindings, i))
			if err != nil {
				return err
			}
			works, statuses = append(works, toWorks), append(statuses, toStatus)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.tell("template to its last Work, p50", middle(works), "ms")
	out.tell("template to its last Work, worst", worst(works), "ms")
	s.promised("change", at, full(), "template to its last Work, worst", worst(works)/1000, mostToWorks, "s")
	out.tell("last report to the template's status, p50", middle(statuses), "ms")
	out.tell("last report to the template's status, worst", worst(statuses), "ms")
	out.account("", "change", u, float64(s.changes))
	return nil
}

func middle(of []time.Duration) float64 {
	slices.Sort(of)
	return 1000 * of[len(of)/2].Seconds()
}

func worst(of []time.Duration) float64 { return 1000 * slices.Max(of).Seconds() }

// change gives an application a new image. It returns the time until its last Work had it, and from its agents' last
// report to the status of the template.
func (s *system) change(ctx context.Context, name client.ObjectKey, version string) (toWorks, toStatus time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	var binding workv1alpha2.ResourceBinding
	if err := s.hubClient.Get(ctx, client.ObjectKey{Namespace: name.Namespace, Name: contract.BindingName("Deployment", name.Name)}, &binding); err != nil {
		return 0, 0, fmt.Errorf("reading a binding: %w", err)
	}
	written, reported := make(chan time.Time, len(binding.Spec.Clusters)), make(chan time.Time, len(binding.Spec.Clusters))
	for _, target := range binding.Spec.Clusters {
		if err := s.watchWork(ctx, target.Name, name, version, written, reported); err != nil {
			return 0, 0, err
		}
	}
	shown, err := s.watchTemplate(ctx, name, version)
	if err != nil {
		return 0, 0, err
	}
	template := &appsv1.Deployment{}
	template.Namespace, template.Name = name.Namespace, name.Name
	patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"registry.example.com/shop/web:%s"}]}}}}`, version)
	began := time.Now()
	if err := s.hubClient.Patch(ctx, template, client.RawPatch(types.StrategicMergePatchType, []byte(patch))); err != nil {
		return 0, 0, fmt.Errorf("changing an application: %w", err)
	}
	var lastWork, lastReport time.Time
	for range binding.Spec.Clusters {
		for _, next := range []struct {
			from <-chan time.Time
			last *time.Time
		}{{written, &lastWork}, {reported, &lastReport}} {
			select {
			case *next.last = <-next.from:
			case <-ctx.Done():
				return 0, 0, fmt.Errorf("waiting for the Works of %q: %w", name, ctx.Err())
			}
		}
	}
	select {
	case at := <-shown:
		return lastWork.Sub(began), max(0, at.Sub(lastReport)), nil
	case <-ctx.Done():
		return 0, 0, fmt.Errorf("waiting for the status of %q: %w", name, ctx.Err())
	}
}

// watchWork sends when a Work has a version of its application, and when its agent reported it.
func (s *system) watchWork(ctx context.Context, cluster string, name client.ObjectKey, version string, written, reported chan<- time.Time) error {
	w, err := s.hubClient.Watch(ctx, &workv1alpha1.WorkList{},
		client.InNamespace(contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", contract.WorkName("Deployment", name.Namespace, name.Name))})
	if err != nil {
		return fmt.Errorf("watching a Work: %w", err)
	}
	go func() {
		defer w.Stop()
		seen := false
		for event := range w.ResultChan() {
			work, ok := event.Object.(*workv1alpha1.Work)
			if !ok || len(work.Spec.Workload.Manifests) == 0 || !strings.Contains(string(work.Spec.Workload.Manifests[0].Raw), "web:"+version+`"`) {
				continue
			}
			if !seen {
				seen = true
				written <- time.Now()
			}
			if work.Status.ObservedGeneration == work.Generation {
				reported <- time.Now()
				return
			}
		}
	}()
	return nil
}

// watchTemplate sends when the status of a template has reached a version.
func (s *system) watchTemplate(ctx context.Context, name client.ObjectKey, version string) (<-chan time.Time, error) {
	w, err := s.hubClient.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(name.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", name.Name)})
	if err != nil {
		return nil, fmt.Errorf("watching a template: %w", err)
	}
	shown := make(chan time.Time, 1)
	go func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			d, ok := event.Object.(*appsv1.Deployment)
			if ok && strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":"+version) && d.Status.ObservedGeneration >= d.Generation {
				shown <- time.Now()
				return
			}
		}
	}()
	return shown, nil
}
