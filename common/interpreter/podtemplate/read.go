package podtemplate

import (
	"fmt"
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// content is a JSON object, as in unstructured objects.
type content = map[string]any

// Read converts the parts of a pod's spec, given as JSON, that Requirements and Dependencies use. They are a small
// part of it, and converting everything by reflection would dominate their cost.
func Read(spec map[string]any) (*corev1.PodSpec, error) {
	r := &reader{}
	pod := &corev1.PodSpec{
		ServiceAccountName:  r.text(spec, "serviceAccountName"),
		PriorityClassName:   r.text(spec, "priorityClassName"),
		NodeSelector:        r.texts(spec, "nodeSelector"),
		Overhead:            r.quantities(spec, "overhead"),
		InitContainers:      r.containers(spec, "initContainers"),
		Containers:          r.containers(spec, "containers"),
		EphemeralContainers: r.ephemeral(spec),
	}
	if own := r.object(spec, "resources"); own != nil {
		pod.Resources = &corev1.ResourceRequirements{Requests: r.quantities(own, "requests")}
	}
	if required := r.object(r.object(r.object(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution"); required != nil {
		pod.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: r.nodes(required)}}
	}
	for c := range r.objects(spec, "tolerations") {
		pod.Tolerations = append(pod.Tolerations, r.toleration(c))
	}
	for c := range r.objects(spec, "imagePullSecrets") {
		pod.ImagePullSecrets = append(pod.ImagePullSecrets, corev1.LocalObjectReference{Name: r.text(c, "name")})
	}
	for c := range r.objects(spec, "volumes") {
		pod.Volumes = append(pod.Volumes, r.volume(c))
	}
	return pod, r.problem
}

// reader reads fields and records the first that has the wrong type.
type reader struct{ problem error }

func (r *reader) refuse(field, want string) {
	if r.problem == nil {
		r.problem = fmt.Errorf("%s is no %s", field, want)
	}
}

// read returns the value of a field; the zero value if it is missing.
func read[T any](r *reader, c content, field, want string) T {
	value, ok := c[field].(T)
	if !ok && c[field] != nil {
		r.refuse(field, want)
	}
	return value
}

func (r *reader) text(c content, field string) string { return read[string](r, c, field, "text") }

func (r *reader) object(c content, field string) content { return read[content](r, c, field, "object") }
func (r *reader) list(c content, field string) []any     { return read[[]any](r, c, field, "list") }

func (r *reader) objects(c content, field string) iter.Seq[content] {
	return func(yield func(content) bool) {
		for _, entry := range r.list(c, field) {
			object, ok := entry.(content)
			if !ok {
				r.refuse(field, "list of objects")
			} else if !yield(object) {
				return
			}
		}
	}
}

func (r *reader) texts(c content, field string) map[string]string {
	values := r.object(c, field)
	if values == nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for key := range values {
		out[key] = r.text(values, key)
	}
	return out
}
