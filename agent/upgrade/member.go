package upgrade

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/upgrade/plan"
	"fairlead.dev/common/contract"
)

const (
	// guardSuffix is appended to the name of the agent's Deployment for the names of the guard and its ConfigMap.
	guardSuffix = "-guard"
	// container is the container name of both agent and guard.
	container = "agent"
	// Keys of the ConfigMap.
	requestKey, reportedKey = "request", "reported"
	// requestTimeout bounds each request to the member.
	requestTimeout = 10 * time.Second
)

// installed is an agent that runs in its member as a Deployment.
type installed struct {
	memberClient client.Client
	agent, guard types.NamespacedName
}

// openInstalled returns a client for an agent whose Deployment is given as NAMESPACE/NAME. It makes no request.
func openInstalled(member *rest.Config, deployment string) (*installed, error) {
	namespace, name, ok := strings.Cut(deployment, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("the Deployment %q is not of the form NAMESPACE/NAME", deployment)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, autoscalingv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	member = rest.CopyConfig(member)
	member.Timeout = requestTimeout
	c, err := client.New(member, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return &installed{
		memberClient: c,
		agent:        types.NamespacedName{Namespace: namespace, Name: name},
		guard:        types.NamespacedName{Namespace: namespace, Name: name + guardSuffix},
	}, nil
}

// deployment reads the agent's Deployment: its image, and the guard's record.
func (i *installed) deployment(ctx context.Context) (d *appsv1.Deployment, image string, record *plan.Record, err error) {
	d = &appsv1.Deployment{}
	if err := i.memberClient.Get(ctx, i.agent, d); err != nil {
		return nil, "", nil, fmt.Errorf("reading the agent's Deployment %s: %w", i.agent, err)
	}
	containers := d.Spec.Template.Spec.Containers
	for c := range containers {
		if containers[c].Name == container {
			image = containers[c].Image
		}
	}
	if text := d.Annotations[contract.AgentUpgradeAnnotation]; text != "" {
		record = &plan.Record{}
		if err := json.Unmarshal([]byte(text), record); err != nil {
			record = nil // the annotation was tampered with; the requested upgrade starts over
		}
	}
	return d, image, record, nil
}

// asked reads the agent's request from the ConfigMap; nil if there is none, or none that can be decoded.
func (i *installed) asked(ctx context.Context) (request *plan.Request, reported string, err error) {
	cm := &corev1.ConfigMap{}
	if err := i.memberClient.Get(ctx, i.guard, cm); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, "", nil
		}
		return nil, "", fmt.Errorf("reading ConfigMap %s: %w", i.guard, err)
	}
	if text := cm.Data[requestKey]; text != "" {
		request = &plan.Request{}
		if json.Unmarshal([]byte(text), request) != nil || request.Image == "" || request.ReportWithin <= 0 {
			request = nil
		}
	}
	return request, cm.Data[reportedKey], nil
}

// tell writes one key of the ConfigMap.
func (i *installed) tell(ctx context.Context, key, value string) error {
	patch, err := json.Marshal(map[string]any{"data": map[string]string{key: value}})
	if err != nil {
		return fmt.Errorf("encoding what is said to the guard: %w", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.guard.Namespace, Name: i.guard.Name}}
	if err := i.memberClient.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", i.guard, err)
	}
	return nil
}

// wake scales the guard up.
func (i *installed) wake(ctx context.Context) error {
	d := &appsv1.Deployment{}
	if err := i.memberClient.Get(ctx, i.guard, d); err != nil {
		return fmt.Errorf("reading Deployment %s: %w", i.guard, err)
	}
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 1 {
		return nil
	}
	err := i.memberClient.SubResource("scale").Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`)),
		client.WithSubResourceBody(&autoscalingv1.Scale{}), client.FieldOwner(contract.FieldManagerAgent))
	if err != nil {
		return fmt.Errorf("scaling Deployment %s up: %w", i.guard, err)
	}
	return nil
}

// sleep scales the guard down, and sets its image if one is given: that of an agent that has proved itself.
func (i *installed) sleep(ctx context.Context, image string) error {
	spec := map[string]any{"replicas": 0}
	if image != "" {
		spec["template"] = map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": container, "image": image}}}}
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return fmt.Errorf("encoding the end of the guard: %w", err)
	}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.guard.Namespace, Name: i.guard.Name}}
	if err := i.memberClient.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner(contract.FieldManagerUpgrade)); err != nil {
		return fmt.Errorf("scaling Deployment %s down: %w", i.guard, err)
	}
	return nil
}

// change performs a step: record, image and start in one write, which fails if the Deployment changed since it was
// read.
func (i *installed) change(ctx context.Context, d *appsv1.Deployment, step plan.Step) error {
	record, err := json.Marshal(step.Record)
	if err != nil {
		return fmt.Errorf("encoding the record of the upgrade: %w", err)
	}
	content := map[string]any{"metadata": map[string]any{
		"resourceVersion": d.ResourceVersion, "annotations": map[string]string{contract.AgentUpgradeAnnotation: string(record)},
	}}
	if step.Image != "" {
		content["spec"] = map[string]any{"template": map[string]any{
			"metadata": map[string]any{"annotations": map[string]string{contract.AgentUpgradeAnnotation: step.Start}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": container, "image": step.Image}}},
		}}
	}
	patch, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding the upgrade: %w", err)
	}
	if err := i.memberClient.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner(contract.FieldManagerUpgrade)); err != nil {
		return fmt.Errorf("changing the agent's Deployment %s: %w", i.agent, err)
	}
	return nil
}

// podProblem returns why the agent's pods do not start, as far as the member reports it; empty if they do.
func (i *installed) podProblem(ctx context.Context, d *appsv1.Deployment) string {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return ""
	}
	var pods corev1.PodList
	if err := i.memberClient.List(ctx, &pods, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return ""
	}
	if len(pods.Items) == 0 {
		return "the member made no pod of it"
	}
	for p := range pods.Items {
		for _, s := range pods.Items[p].Status.ContainerStatuses {
			switch {
			case s.State.Waiting != nil:
				return strings.TrimSpace(s.State.Waiting.Reason + " " + s.State.Waiting.Message)
			case s.LastTerminationState.Terminated != nil:
				last := s.LastTerminationState.Terminated
				return fmt.Sprintf("it ended with status %d %s", last.ExitCode, last.Reason)
			}
		}
	}
	return ""
}
