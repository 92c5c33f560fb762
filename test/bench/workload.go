package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// workload is a kind of template and what counts as done.
type workload struct {
	Name       string
	apiVersion string
	kind       string
	replicas   int32
}

func workloads() []workload {
	return []workload{
		{Name: "configmaps", apiVersion: "v1", kind: "ConfigMap"},
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

// namespace is where the templates of a workload are.
func (w workload) namespace() string { return "bench-" + w.Name }

// deployments says whether the status of templates comes back onto themselves.
func (w workload) deployments() bool { return w.kind == "Deployment" }

// object returns a template.
func (w workload) object(namespace, name string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}
	if !w.deployments() {
		return &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: w.apiVersion, Kind: w.kind}, ObjectMeta: meta,
			Data: map[string]string{"name": name, "text": strings.Repeat("all work and no play ", 10)},
		}
	}
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: w.apiVersion, Kind: w.kind}, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(w.replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1.27"}}},
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

// settled says whether a member has done what the object asks for.
func (w workload) settled(obj client.Object) bool {
	d, ok := obj.(*appsv1.Deployment)
	return !ok || (d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == w.replicas)
}

// reportList returns an empty list of the kind that shows a template's status on the hub.
func (w workload) reportList() client.ObjectList {
	if w.deployments() {
		return &appsv1.DeploymentList{}
	}
	return &workv1alpha2.ResourceBindingList{}
}

// reported returns the template whose status from all members an object on the hub shows;
// nothing if it does not yet.
func (w workload) reported(obj client.Object, members int) string {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		if o.Status.ObservedGeneration >= o.Generation && o.Status.ReadyReplicas == w.replicas*int32(members) {
			return o.Name
		}
	case *workv1alpha2.ResourceBinding:
		if len(o.Status.AggregatedStatus) < members {
			return ""
		}
		for _, item := range o.Status.AggregatedStatus {
			if !item.Applied {
				return ""
			}
		}
		return o.Spec.Resource.Name
	}
	return ""
}

// bindingName is what the binding of a template is called.
func (w workload) bindingName(name string) string { return contract.BindingName(w.kind, name) }
