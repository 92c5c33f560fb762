package cronscaling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// subresource is the subresource through which replicas are read and set.
const subresource = "scale"

// refusedError is a failure that a retry would not fix. Its text is a sentence for people.
type refusedError string

// Error implements error.
func (e refusedError) Error() string { return string(e) }

// isTemporary says whether a retry may succeed.
func isTemporary(err error) bool {
	return err != nil && !errors.As(err, new(refusedError))
}

// scale sets the replicas of a rule's target if they differ, and returns them.
func (r *Reconciler) scale(ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA, rule *autoscalingv1alpha1.CronFederatedHPARule) (int32, error) {
	if rule.TargetReplicas == nil {
		return 0, refusedError("The rule has no targetReplicas: set them.")
	}
	target, err := r.target(scaler)
	if err != nil {
		return 0, err
	}
	scale := &unstructured.Unstructured{}
	scale.SetAPIVersion("autoscaling/v1")
	scale.SetKind("Scale")
	if err := r.hubClient.SubResource(subresource).Get(ctx, target, scale); err != nil {
		return 0, r.explain(ctx, scaler, target, err)
	}
	if has, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas"); err == nil && has == int64(*rule.TargetReplicas) {
		return *rule.TargetReplicas, nil
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": *rule.TargetReplicas}})
	if err != nil {
		return 0, fmt.Errorf("encoding the scale of %q: %w", nameOf(scaler), err)
	}
	err = r.hubClient.SubResource(subresource).Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(contract.FieldManagerCronScaling), client.WithSubResourceBody(scale))
	if err != nil {
		return 0, r.explain(ctx, scaler, target, err)
	}
	return *rule.TargetReplicas, nil
}

// target returns the name and kind of a CronFederatedHPA's target. It is in the same namespace: who may write in a
// namespace must not scale cluster-scoped objects.
func (r *Reconciler) target(scaler *autoscalingv1alpha1.CronFederatedHPA) (*unstructured.Unstructured, error) {
	ref := scaler.Spec.ScaleTargetRef
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	namespaced, err := kube.IsNamespaced(r.hubClient.RESTMapper(), kind)
	switch {
	case meta.IsNoMatchError(err):
		return nil, refusedError(fmt.Sprintf("spec.scaleTargetRef: the hub knows no kind %s of %s; correct it, or install its CustomResourceDefinition on the hub.",
			ref.Kind, ref.APIVersion))
	case err != nil:
		return nil, err
	case !namespaced:
		return nil, refusedError(fmt.Sprintf("spec.scaleTargetRef: kind %s is not namespaced; name a workload of namespace %s.", ref.Kind, scaler.Namespace))
	}
	target := &unstructured.Unstructured{}
	target.SetGroupVersionKind(kind)
	target.SetNamespace(scaler.Namespace)
	target.SetName(ref.Name)
	return target, nil
}

// explain turns an error about the scale of a target into one that people can act on, if a retry would not fix it.
func (r *Reconciler) explain(ctx context.Context, scaler *autoscalingv1alpha1.CronFederatedHPA, target *unstructured.Unstructured, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		metadata := kube.MetadataOf(target.GroupVersionKind())
		switch err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(target), metadata); {
		case apierrors.IsNotFound(err):
			return refusedError(fmt.Sprintf("spec.scaleTargetRef: there is no %s in namespace %s of the hub; create it, or correct the name.", nameOf(scaler), scaler.Namespace))
		case err != nil:
			return fmt.Errorf("reading the metadata of %s: %w", nameOf(scaler), err)
		}
		return refusedError(fmt.Sprintf("spec.scaleTargetRef: kind %s of %s has no subresource scale, so its replicas cannot be set; name a workload that has one, such as a Deployment.",
			scaler.Spec.ScaleTargetRef.Kind, scaler.Spec.ScaleTargetRef.APIVersion))
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
		return refusedError(fmt.Sprintf("The hub's API refuses to scale %s: %v", nameOf(scaler), err))
	default:
		return fmt.Errorf("scaling %s: %w", nameOf(scaler), err)
	}
}
