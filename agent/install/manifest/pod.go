package manifest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/agent/install/chart"
	"fairlead.dev/manifests/charts"
)

// As whom the pods of an agent run.
const (
	// RunAsFixed is user 65532 with the group of that number.
	RunAsFixed = "fixed"
	// RunAsAssigned leaves both to the platform, as OpenShift assigns them to each namespace and refuses others.
	RunAsAssigned = "assigned"
	// RunAsAuto is RunAsAssigned where the member is OpenShift, and otherwise RunAsFixed.
	RunAsAuto = "auto"
)

// Pod says how the pods of an agent and of its guard are pulled, placed and run. What is empty is as the chart has it.
type Pod struct {
	// PullPolicy is one of Kubernetes, PullSecrets the names of Secrets in the agent's namespace.
	PullPolicy  string
	PullSecrets []string
	// NodeSelector, Tolerations and Affinity are those of the pod; the last as its JSON is.
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	Affinity     map[string]any
	// Requests and Limits are laid over the chart's; one of 0 is taken away.
	Requests, Limits corev1.ResourceList
	// RunAs is RunAsFixed, RunAsAssigned or RunAsAuto.
	RunAs string
}

// addTo adds what differs from the chart to values of it.
func (p *Pod) addTo(out map[string]any) {
	if p.PullPolicy != "" {
		image, isSaid := out["image"].(map[string]any)
		if !isSaid {
			image = map[string]any{}
		}
		image["pullPolicy"] = p.PullPolicy
		out["image"] = image
	}
	if len(p.PullSecrets) > 0 {
		secrets := make([]any, 0, len(p.PullSecrets))
		for _, name := range p.PullSecrets {
			secrets = append(secrets, map[string]any{"name": name})
		}
		out["imagePullSecrets"] = secrets
	}
	if len(p.NodeSelector) > 0 {
		labels := make(map[string]any, len(p.NodeSelector))
		for key, value := range p.NodeSelector {
			labels[key] = value
		}
		out["nodeSelector"] = labels
	}
	if p.RunAs != "" {
		out["runAs"] = p.RunAs
	}
	resources := map[string]any{}
	for what, list := range map[string]corev1.ResourceList{"requests": p.Requests, "limits": p.Limits} {
		if len(list) > 0 {
			resources[what] = amounts(list)
		}
	}
	if len(resources) > 0 {
		out["resources"] = resources
	}
	if len(p.Tolerations) > 0 {
		out["tolerations"] = tolerations(p.Tolerations)
	}
	if len(p.Affinity) > 0 {
		out["affinity"] = p.Affinity
	}
}

// tolerations are those of a pod as the chart takes them.
func tolerations(all []corev1.Toleration) []any {
	out := make([]any, 0, len(all))
	for _, t := range all {
		toleration := map[string]any{}
		for field, value := range map[string]string{"key": t.Key, "operator": string(t.Operator), "value": t.Value, "effect": string(t.Effect)} {
			if value != "" {
				toleration[field] = value
			}
		}
		if t.TolerationSeconds != nil {
			toleration["tolerationSeconds"] = *t.TolerationSeconds
		}
		out = append(out, toleration)
	}
	return out
}

// amounts are those of resources as the chart takes them: one of nothing is one that it has and that is not wanted.
func amounts(list corev1.ResourceList) map[string]any {
	out := make(map[string]any, len(list))
	for name, amount := range list {
		out[string(name)] = nil
		if !amount.IsZero() {
			out[string(name)] = amount.String()
		}
	}
	return out
}

// podOf reads how the pods of an agent run.
func podOf(d *appsv1.Deployment) (Pod, error) {
	spec := &d.Spec.Template.Spec
	out := Pod{NodeSelector: spec.NodeSelector, Tolerations: spec.Tolerations}
	if spec.Affinity != nil {
		var err error
		if out.Affinity, err = runtime.DefaultUnstructuredConverter.ToUnstructured(spec.Affinity); err != nil {
			return Pod{}, fmt.Errorf("reading the affinity of the pod: %w", err)
		}
	}
	for _, secret := range spec.ImagePullSecrets {
		out.PullSecrets = append(out.PullSecrets, secret.Name)
	}
	if spec.SecurityContext != nil && spec.SecurityContext.RunAsUser == nil {
		out.RunAs = RunAsAssigned
	}
	c := containerOf(d)
	if c == nil {
		return out, nil
	}
	if c.ImagePullPolicy != corev1.PullIfNotPresent {
		out.PullPolicy = string(c.ImagePullPolicy)
	}
	usual, err := usualResources()
	if err != nil {
		return Pod{}, err
	}
	out.Requests, out.Limits = over(usual.Requests, c.Resources.Requests), over(usual.Limits, c.Resources.Limits)
	return out, nil
}

// over is what to lay over usual amounts to have others; nil if they are the same.
func over(usual, wanted corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name := range usual {
		if _, has := wanted[name]; !has {
			out[name] = resource.Quantity{}
		}
	}
	for name, amount := range wanted {
		if is, has := usual[name]; !has || is.Cmp(amount) != 0 {
			out[name] = amount
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// usualResources are those of the chart.
func usualResources() (corev1.ResourceRequirements, error) {
	var out corev1.ResourceRequirements
	files, err := charts.Agent()
	if err != nil {
		return out, fmt.Errorf("reading the chart in this program: %w", err)
	}
	values, err := chart.Values(files)
	if err != nil {
		return out, err
	}
	resources, _ := values["resources"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(resources, &out); err != nil {
		return out, fmt.Errorf("reading the resources of the chart: %w", err)
	}
	return out, nil
}
