package replicas

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/adjust/replicas/scale"
)

// Reasons and the action of the stage's events.
const (
	reasonRetained     = "ReplicasRetained"
	reasonNotRetained  = "ReplicasNotRetained"
	reasonCannotRetain = "ReplicasCannotBeRetained"
	reasonTakenOver    = "ReplicasTakenOver"
	reasonNotBelieved  = "ReplicasNotBelieved"
	action             = "SyncReplicas"
)

// referenceTo returns a reference to a target.
func referenceTo(t scale.Target, obj metav1.Object) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: t.APIVersion, Kind: t.Kind, Namespace: obj.GetNamespace(), Name: t.Name, UID: obj.GetUID()}
}

func normal(regarding runtime.Object, reason, note string) eventsink.Event {
	return eventsink.Event{Regarding: regarding, Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note}
}

func retained(b *workv1alpha2.ResourceBinding, t scale.Target, obj metav1.Object) eventsink.Event {
	return normal(referenceTo(t, obj), reasonRetained,
		fmt.Sprintf("HorizontalPodAutoscaler %s scales this object in the clusters: its replicas there are kept.", b.Spec.Resource.Name))
}

func notRetained(b *workv1alpha2.ResourceBinding, t scale.Target, obj metav1.Object) eventsink.Event {
	return normal(referenceTo(t, obj), reasonNotRetained,
		fmt.Sprintf("HorizontalPodAutoscaler %s no longer scales this object: the clusters get the replicas of the template.", b.Spec.Resource.Name))
}

func cannotRetain(b *workv1alpha2.ResourceBinding, t scale.Target) eventsink.Event {
	return notMarked(b, fmt.Sprintf("The hub has no rule for keeping the replicas of %s in the clusters, so the template and this autoscaler overwrite each other there. "+
		"Create a ResourceInterpreterCustomization with a retention rule for %s of %s.", t, t.Kind, t.APIVersion))
}

func inNoNamespace(b *workv1alpha2.ResourceBinding, t scale.Target) eventsink.Event {
	return notMarked(b, fmt.Sprintf("spec.scaleTargetRef: kind %s is not namespaced, so the replicas of %s are not kept; name a workload of namespace %s.",
		t.Kind, t, b.Namespace))
}

// notMarked is the event that tells the author of an autoscaler why its target is not marked.
func notMarked(b *workv1alpha2.ResourceBinding, note string) eventsink.Event {
	return eventsink.Event{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonCannotRetain, Action: action, Note: prose.Cut(note, prose.OfEvent),
	}
}

func takenOver(b *workv1alpha2.ResourceBinding, before int64, c scale.Count) eventsink.Event {
	shares := make([]string, len(c.By))
	for i, share := range c.By {
		shares[i] = fmt.Sprintf("%s:%d", share.Name, share.Replicas)
	}
	return normal(bindings.TemplateRef(b), reasonTakenOver,
		fmt.Sprintf("Took over %d replicas from the clusters, instead of %d: {%s}", c.Total, before, strings.Join(shares, ", ")))
}

// notBelieved is the event that clusters report more replicas than are counted; nil if none does.
func notBelieved(b *workv1alpha2.ResourceBinding, c scale.Count) []eventsink.Event {
	if len(c.Excess) == 0 {
		return nil
	}
	reports := make([]string, len(c.Excess))
	for i, share := range c.Excess {
		reports[i] = fmt.Sprintf("%s:%d", share.Name, share.Replicas)
	}
	return []eventsink.Event{{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonNotBelieved, Action: action,
		Note: fmt.Sprintf("Clusters report far more replicas than their share, so only a part of these is counted for now: {%s}. "+
			"If the autoscaler there does not want that many, check the cluster", strings.Join(reports, ", ")),
	}}
}
