package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/rollout/admit"
)

const (
	actionRollOut = "RollOut"
	// reasonUnordered is the reason of the event about waves that cannot be ordered as their strategy says.
	reasonUnordered = "OrderLabelAbsent"
)

// report logs a written decision and emits its events.
func (r *reconciler) report(ctx context.Context, s *scope, d *admit.Decision) {
	log := ctrl.LoggerFrom(ctx)
	events := d.Events
	if s.made {
		if why := unordered(&s.in.Frozen.Strategy, s.targets); why != "" {
			events = append(slices.Clone(events), admit.Event{Warning: true, Reason: reasonUnordered, Message: strings.TrimSpace(why)})
		}
	}
	for _, e := range events {
		log.Info("Rolling out", "reason", e.Reason, "message", e.Message)
		for _, event := range told(s.rollout, s.binding, e) {
			r.events(event)
		}
	}
}

// told returns an event on the rollout and on the template. Related contains the number of the revision, so that equal events of two
// revisions are not merged.
func told(rollout kube.Rollout, b kube.Binding, e admit.Event) []eventsink.Event {
	kind := corev1.EventTypeNormal
	if e.Warning {
		kind = corev1.EventTypeWarning
	}
	related := &corev1.ObjectReference{
		APIVersion: "fairlead.dev/v1alpha1", Kind: kindName(rollout), Namespace: rollout.GetNamespace(), Name: rollout.GetName(), UID: rollout.GetUID(),
		ResourceVersion: fmt.Sprint(rollout.RolloutStatus().Revision),
	}
	return []eventsink.Event{
		{Regarding: rollout, Related: bindings.TemplateRef(b), Type: kind, Reason: e.Reason, Action: actionRollOut, Note: e.Message},
		{Regarding: bindings.TemplateRef(b), Related: related, Type: kind, Reason: e.Reason, Action: actionRollOut, Note: e.Message},
	}
}
