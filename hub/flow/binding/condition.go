package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/prose"
)

// maxNamed is how many clusters a condition names.
const maxNamed = 3

// keepCondition sets the condition that says which clusters keep their content, and why. Usually there are none, and nothing is written.
func (r *reconciler) keepCondition(ctx context.Context, b kube.Binding, failed []failure, notes []string) error {
	conditions := &b.BindingStatus().Conditions
	before, want := meta.FindStatusCondition(*conditions, workv1alpha2.BindingRendered), rendered(failed, notes)
	switch {
	case before == nil && want == nil, before != nil && want != nil && before.Reason == want.Reason && before.Message == want.Message:
		return nil
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if want == nil {
		meta.RemoveStatusCondition(conditions, workv1alpha2.BindingRendered)
	} else {
		want.ObservedGeneration = b.GetGeneration()
		meta.SetStatusCondition(conditions, *want)
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerBinding); err != nil {
		return fmt.Errorf("saying of %q which clusters do not get their Work: %w", b.GetName(), err)
	}
	return nil
}

// rendered returns the condition for failures; nil if there are none.
func rendered(failed []failure, notes []string) *metav1.Condition {
	if len(failed) == 0 {
		return nil
	}
	out := &metav1.Condition{
		Type: workv1alpha2.BindingRendered, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonWorkFailed,
		Message: strings.Join(notes[:min(len(notes), maxNamed)], " "),
	}
	if slices.ContainsFunc(failed, func(f failure) bool { return f.override }) {
		out.Reason = workv1alpha2.ReasonOverrideFailed
	}
	if slices.ContainsFunc(failed, func(f failure) bool { return errors.Is(f.err, errOverQuota) || errors.Is(f.err, errUnadmitted) }) {
		out.Reason = workv1alpha2.ReasonQuotaExceeded
	}
	if slices.ContainsFunc(failed, func(f failure) bool { return errors.Is(f.err, edits.ErrNotSeen) }) {
		out.Reason = workv1alpha2.ReasonEditNotSeen
	}
	if slices.ContainsFunc(failed, func(f failure) bool { return errors.Is(f.err, errNamespaceTerminating) }) {
		out.Reason = workv1alpha2.ReasonNamespaceTerminating
	}
	if more := len(notes) - maxNamed; more > 0 {
		out.Message += fmt.Sprintf(" The same holds for %d more clusters.", more)
	}
	out.Message = prose.Cut(out.Message, prose.OfCondition)
	return out
}
