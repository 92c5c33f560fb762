package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/status/aggregate"
)

// Reasons of events.
const (
	reasonSyncFailed             = "SyncFailed"
	reasonAggregateStatusSucceed = "AggregateStatusSucceed"
	reasonAggregateStatusFailed  = "AggregateStatusFailed"
	reasonStatusLeftOut          = "StatusLeftOut"
)

// Actions of events.
const (
	actionSync      = "Sync"
	actionAggregate = "AggregateStatus"
)

func refusedOnTemplate(b kube.Binding, item workv1alpha2.AggregatedStatusItem) eventsink.Event {
	return refused(bindings.TemplateRef(b), b, item)
}

func refusedOnBinding(b kube.Binding, item workv1alpha2.AggregatedStatusItem) eventsink.Event {
	return refused(b, b, item)
}

func refused(regarding runtime.Object, b kube.Binding, item workv1alpha2.AggregatedStatusItem) eventsink.Event {
	ref := b.BindingSpec().Resource
	name := ref.Name
	if ref.Namespace != "" {
		name = ref.Namespace + "/" + name
	}
	if aggregate.IsLeftOut(&item) {
		return eventsink.Event{
			Regarding: regarding, Type: corev1.EventTypeWarning, Reason: reasonStatusLeftOut, Action: actionAggregate,
			Note: fmt.Sprintf("Cluster %s: %s", item.ClusterName, item.AppliedMessage),
		}
	}
	return eventsink.Event{
		Regarding: regarding, Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionSync,
		Note: fmt.Sprintf("Failed to create or update resource(%s) in member cluster(%s): %s",
			name, item.ClusterName, item.AppliedMessage),
	}
}

func aggregatedOnBinding(b kube.Binding) eventsink.Event {
	name := "ClusterResourceBinding(" + b.GetName() + ")"
	if b.GetNamespace() != "" {
		name = "ResourceBinding(" + b.GetNamespace() + "/" + b.GetName() + ")"
	}
	return eventsink.Event{
		Regarding: b, Type: corev1.EventTypeNormal, Reason: reasonAggregateStatusSucceed, Action: actionAggregate,
		Note:   "Update " + name + " with AggregatedStatus successfully.",
		Detail: true,
	}
}

func aggregatedOnTemplate(b kube.Binding) eventsink.Event {
	return eventsink.Event{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeNormal, Reason: reasonAggregateStatusSucceed, Action: actionAggregate,
		Note:   "Update Resource with AggregatedStatus successfully.",
		Detail: true,
	}
}

func notAggregated(b kube.Binding, err error) eventsink.Event {
	return eventsink.Event{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonAggregateStatusFailed, Action: actionAggregate,
		Note: fmt.Sprintf("The status of the members could not be written to the template: %v", err),
	}
}
