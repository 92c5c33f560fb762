package main

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// workload is a kind of template and its criteria for completion.
type workload struct {
	Name       string
	apiVersion string
	kind       string
	replicas   int32
}

// configMaps is the workload that most targets are about.
const configMaps = "configmaps"

func workloads() []workload {
	return []workload{
		{Name: configMaps, apiVersion: "v1", kind: "ConfigMap"},
		{Name: "deployments-0", apiVersion: "apps/v1", kind: "Deployment"},
		{Name: "deployments-1", apiVersion: "apps/v1", kind: "Deployment", replicas: 1},
	}
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads() {
		names = append(names, w.Name)
	}
	return names
}

func findWorkload(name string) (workload, error) {
	for _, w := range workloads() {
		if w.Name == name {
			return w, nil
		}
	}
	return workload{}, fmt.Errorf("unknown workload %q: there are %s", name, strings.Join(workloadNames(), ", "))
}

// namespace returns the namespace of a workload's templates.
func (w workload) namespace() string { return "bench-" + w.Name }

// deployments reports whether the aggregated status is written to the templates.
func (w workload) deployments() bool { return w.kind == "Deployment" }

// images and texts tell an updated template from a new one.
const (
	image, newImage = "nginx:1.27", "nginx:1.28"
	text, newText   = "all work and no play ", "all play and no work "
)

// change applies the update to a template.
func (w workload) change(obj client.Object) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data["text"] = strings.Repeat(newText, 10)
	case *appsv1.Deployment:
		o.Spec.Template.Spec.Containers[0].Image = newImage
	}
}

// versionOf returns the change after which a template, or an object made from it, has its current content.
func (w workload) versionOf(obj client.Object) change {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		if strings.HasPrefix(o.Data["text"], newText) {
			return update
		}
	case *appsv1.Deployment:
		if o.Spec.Template.Spec.Containers[0].Image == newImage {
			return update
		}
	}
	return creation
}

// manifestOf returns the name of a Work's template, and the change after which it has the content in the Work.
func (w workload) manifestOf(work *workv1alpha1.Work) (string, change) {
	if len(work.Spec.Workload.Manifests) == 0 {
		return "", creation
	}
	obj := w.object("", "")
	if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, obj); err != nil {
		return "", creation
	}
	return obj.GetName(), w.versionOf(obj)
}

// reported reports whether the status of a Work says that the member has reached the desired state.
func (w workload) reported(work *workv1alpha1.Work) bool {
	applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.Status != metav1.ConditionTrue || applied.ObservedGeneration < work.Generation {
		return false
	}
	if !w.deployments() {
		return true
	}
	d := &appsv1.Deployment{}
	for _, m := range work.Status.ManifestStatuses {
		if m.Status != nil && json.Unmarshal(m.Status.Raw, &d.Status) == nil && d.Status.ReadyReplicas == w.replicas && d.Status.UpdatedReplicas == w.replicas {
			return true
		}
	}
	return false
}

// object returns a template.
func (w workload) object(namespace, name string) client.Object {
	of := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
	if !w.deployments() {
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: w.apiVersion, Kind: w.kind}, ObjectMeta: of,
			Data: map[string]string{"name": name, "text": strings.Repeat(text, 10)},
		}
	}
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: w.apiVersion, Kind: w.kind}, ObjectMeta: of,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(w.replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
			},
		},
	}
}

// list returns an empty list of the workload's kind, to watch.
func (w workload) list() client.ObjectList {
	if w.deployments() {
		return &appsv1.DeploymentList{}
	}
	return &corev1.ConfigMapList{}
}

// settled reports whether an object in a member has reached its desired state.
func (w workload) settled(obj client.Object) bool {
	d, ok := obj.(*appsv1.Deployment)
	return !ok || (d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == w.replicas && d.Status.UpdatedReplicas == w.replicas)
}

// shows reports whether the status of a template on the hub includes all members.
func (w workload) shows(obj client.Object, members int) bool {
	d, ok := obj.(*appsv1.Deployment)
	all := w.replicas * int32(members)
	return ok && d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == all && d.Status.UpdatedReplicas == all
}

// fullyApplied reports whether the status of a binding says that it is applied in all members.
func fullyApplied(b *workv1alpha2.ResourceBinding, members int) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingFullyApplied)
	return len(b.Status.AggregatedStatus) == members && c != nil && c.Status == metav1.ConditionTrue && (c.ObservedGeneration == 0 || c.ObservedGeneration == b.Generation)
}

// bindingName returns the name of a template's binding.
func (w workload) bindingName(name string) string { return contract.BindingName(w.kind, name) }
