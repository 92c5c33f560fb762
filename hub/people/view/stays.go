package view

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/people/explain"
)

// exclusions reads what is never propagated; nil if the hub is too old to say, or the person may not read it.
func (r *Reader) exclusions(ctx context.Context) (*selector.Exclusions, error) {
	e, err := apiserver.GetExclusions(ctx, r.hub)
	if apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // nil means unknown
	}
	return e, err
}

// whyStays is the clause that says why policies ignore an object of a kind; empty if they do not.
func whyStays(e *selector.Exclusions, kind schema.GroupVersionKind, obj metav1.Object) string {
	if by := obj.GetLabels()[contract.ClaimedByLabel]; by != "" {
		return fmt.Sprintf("it belongs to %s (label %s)", by, contract.ClaimedByLabel)
	}
	if e == nil {
		return ""
	}
	if why := e.WhyKind(kind); why != "" {
		return why
	}
	return e.Why(selector.Target{
		APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName(), Labels: obj.GetLabels(),
	})
}

// stay sets in a report that no policy can propagate the object.
func stay(report *explain.Report, e *selector.Exclusions, why string) {
	report.Stays, report.NearMisses = why, nil
	report.StaysWithNamespace = e != nil && report.Template.Namespace != "" && why == e.WhyNamespace(report.Template.Namespace)
	report.State = append(report.State, fmt.Sprintf("It stays on the hub, and no policy propagates it: %s.", why))
	for i := range report.Policies {
		if p := &report.Policies[i]; !p.Has {
			p.Why = "the object stays on the hub"
		}
	}
}
