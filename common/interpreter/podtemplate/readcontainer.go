package podtemplate

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"fairlead.dev/common/quantity"
)

func (r *reader) quantities(c content, field string) corev1.ResourceList {
	values := r.object(c, field)
	if values == nil {
		return nil
	}
	out := make(corev1.ResourceList, len(values))
	for name, value := range values {
		out[corev1.ResourceName(name)] = r.quantity(name, value)
	}
	return out
}

// quantity reads an amount, which may be a number.
func (r *reader) quantity(name string, value any) resource.Quantity {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return resource.Quantity{}
	default:
		r.refuse(name, "quantity")
		return resource.Quantity{}
	}
	q, err := quantity.Parse(text)
	if err != nil {
		r.refuse(name, "quantity")
	}
	return q
}

func (r *reader) containers(spec content, field string) []corev1.Container {
	entries := r.list(spec, field)
	if len(entries) == 0 {
		return nil
	}
	out := make([]corev1.Container, 0, len(entries))
	for c := range r.objects(spec, field) {
		container := corev1.Container{Env: r.env(c), EnvFrom: r.envFrom(c)}
		if policy := r.text(c, "restartPolicy"); policy != "" {
			container.RestartPolicy = new(corev1.ContainerRestartPolicy(policy))
		}
		if own := r.object(c, "resources"); own != nil {
			container.Resources = corev1.ResourceRequirements{Requests: r.quantities(own, "requests"), Limits: r.quantities(own, "limits")}
		}
		out = append(out, container)
	}
	return out
}

// ephemeral reads the ephemeral containers, which have no resources.
func (r *reader) ephemeral(spec content) []corev1.EphemeralContainer {
	var out []corev1.EphemeralContainer
	for c := range r.objects(spec, "ephemeralContainers") {
		var e corev1.EphemeralContainer
		e.Env, e.EnvFrom = r.env(c), r.envFrom(c)
		out = append(out, e)
	}
	return out
}

// env reads the variables with a valueFrom.
func (r *reader) env(container content) []corev1.EnvVar {
	var out []corev1.EnvVar
	for c := range r.objects(container, "env") {
		from := r.object(c, "valueFrom")
		if from == nil {
			continue
		}
		source := &corev1.EnvVarSource{}
		if ref := r.object(from, "configMapKeyRef"); ref != nil {
			source.ConfigMapKeyRef = &corev1.ConfigMapKeySelector{LocalObjectReference: r.named(ref)}
		}
		if ref := r.object(from, "secretKeyRef"); ref != nil {
			source.SecretKeyRef = &corev1.SecretKeySelector{LocalObjectReference: r.named(ref)}
		}
		out = append(out, corev1.EnvVar{ValueFrom: source})
	}
	return out
}

func (r *reader) envFrom(container content) []corev1.EnvFromSource {
	var out []corev1.EnvFromSource
	for c := range r.objects(container, "envFrom") {
		var source corev1.EnvFromSource
		if ref := r.object(c, "configMapRef"); ref != nil {
			source.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: r.named(ref)}
		}
		if ref := r.object(c, "secretRef"); ref != nil {
			source.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: r.named(ref)}
		}
		out = append(out, source)
	}
	return out
}

func (r *reader) named(ref content) corev1.LocalObjectReference {
	return corev1.LocalObjectReference{Name: r.text(ref, "name")}
}
