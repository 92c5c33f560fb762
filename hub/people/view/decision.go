package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
	"fairlead.dev/hub/flow/detector/plan"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view/applications"
)

// contest is what is known of the policies for a template.
type contest struct {
	// policies are the candidates, and unread says that some may not be read.
	policies []policyv1alpha1.Policy
	unread   bool
	// others are the other apiVersions in which the hub serves the template.
	others []string
	// kinds reads the interpreter.
	kinds func() (interpreter.Interpreter, error)
}

// explainApplied adds to a report why the policy that claims a template, or should, is not applied to it. It repeats
// the detector's decision with what the person may read, and returns the outcome.
func (r *Reader) explainApplied(ctx context.Context, report *explain.Report, template *unstructured.Unstructured, c contest) (plan.Outcome, error) {
	in := plan.Input{Now: r.clock.Now()}
	var claimed bool
	if in.Claim, claimed = claim.On(template); claimed {
		in.Holder = policyNamed(c.policies, in.Claim.Namespace, in.Claim.Name)
		if in.Holder == nil && c.unread {
			return "", nil // whether the policy still exists is unknown, which the report says
		}
	}
	candidates := c.policies
	if template.GetDeletionTimestamp() != nil {
		candidates = nil
	}
	in.Winner, in.Victim = match.Policy(in.Holder, candidates, selector.TargetOf(template), c.others...)
	if in.Winner == nil {
		return "", nil
	}
	outcome, why, err := r.decideApplied(ctx, &in, template, c)
	switch {
	case apierrors.IsForbidden(err):
		report.State = append(report.State, fmt.Sprintf("You may not read everything that decides whether its policy is applied (%v): see the Warning events of the object.", err))
		return "", nil
	case err != nil:
		return "", err
	case why != "":
		by := applications.KeyOf(in.Winner)
		report.NotApplied = fmt.Sprintf("%s %s is not applied: %s.", by.Kind, strings.TrimPrefix(by.Namespace+"/"+by.Name, "/"), why)
		for i := range report.Policies {
			p := &report.Policies[i]
			if by == (applications.PolicyKey{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}) && !p.Has {
				p.Why = "it should have the template, but is not applied"
			}
		}
	}
	return outcome, nil
}

// decideApplied makes the decision for a template that a policy wins. It returns the obstacle in a clause with what to
// do; empty if there is none.
func (r *Reader) decideApplied(ctx context.Context, in *plan.Input, template *unstructured.Unstructured, c contest) (outcome plan.Outcome, why string, err error) {
	binding, err := r.bindingByName(ctx, template)
	if err != nil {
		return "", "", err
	}
	var current string
	if binding != nil {
		in.Binding = binding
		if plan.Owned(binding, template) {
			current = binding.BindingSpec().Resource.APIVersion
		}
	}
	if version := match.Version(in.Winner, selector.TargetOf(template), current, c.others...); version != template.GetAPIVersion() {
		if !slices.Contains(c.others, version) {
			return plan.Elsewhere, "", nil // the entry of the policy says that the hub does not serve that version
		}
		as := RefOf(template)
		as.GroupVersionKind = schema.FromAPIVersionAndKind(version, template.GetKind())
		if template, err = r.Template(ctx, as); err != nil {
			return "", "", err
		}
	}
	if err := r.gatherApplied(ctx, in, template); err != nil {
		return "", "", err
	}
	p := plan.Decide(*in)
	switch {
	case p.Why != "":
		return p.Outcome, p.Why, nil
	case p.Outcome == plan.Leaving:
		return p.Outcome, fmt.Sprintf("the earlier binding %q is still being removed; a finalizer of somebody else may hold it", in.Binding.GetName()), nil
	case p.Outcome == plan.Postponed && in.Binding == nil:
		return p.Outcome, "it is lazy: it takes effect with the next edit of the object", nil
	case p.Outcome != plan.Bound:
		return p.Outcome, "", nil
	}
	why, err = r.unreadable(ctx, in, template, c)
	return p.Outcome, why, err
}

// unreadable says why the interpreter cannot read the demand of a template whose binding must be written; empty if it
// can.
func (r *Reader) unreadable(ctx context.Context, in *plan.Input, template *unstructured.Unstructured, c contest) (string, error) {
	kinds, err := c.kinds()
	if err != nil {
		if apierrors.IsForbidden(err) && in.Binding != nil {
			return "", nil // it was applied before
		}
		return "", err
	}
	kind := template.GroupVersionKind()
	in.Workload = kinds.Has(kind, interpreter.InterpretComponent) || kinds.Has(kind, interpreter.InterpretReplica)
	in.Rules = interpreter.Version(kinds, kind)
	if !plan.Decide(*in).Read || asksOthers(kinds, kind) {
		return "", nil // a webhook that the hub can call may not be reachable from here
	}
	if err := r.fillDemand(ctx, kinds, &plan.Demand{}, template); err != nil {
		return err.Error() + "; correct the ResourceInterpreterCustomization of the kind, or the object", nil //nolint:nilerr // the failure is the reason to return
	}
	return "", nil
}

// once reads the interpreter on first use.
func (r *Reader) once(ctx context.Context) func() (interpreter.Interpreter, error) {
	return sync.OnceValues(func() (interpreter.Interpreter, error) { return r.Interpreter(ctx) })
}

// asksOthers says whether a webhook interprets the demand of a kind.
func asksOthers(kinds interpreter.Interpreter, kind schema.GroupVersionKind) bool {
	return interpreter.AsksOthers(kinds, kind, interpreter.InterpretComponent) || interpreter.AsksOthers(kinds, kind, interpreter.InterpretReplica)
}

// gatherApplied reads what the decision depends on besides policies and interpreter rules. RolloutStrategies are
// omitted: they decide how a change is rolled out, not whether.
func (r *Reader) gatherApplied(ctx context.Context, in *plan.Input, template *unstructured.Unstructured) (err error) {
	in.Template = &metav1.PartialObjectMetadata{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
		"apiVersion": template.GetAPIVersion(), "kind": template.GetKind(), "metadata": template.Object["metadata"],
	}, in.Template); err != nil {
		return fmt.Errorf("reading the metadata of %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	spec := in.Winner.PropagationSpec()
	if spec.ActivationPreference == policyv1alpha1.LazyActivation {
		if in.Edit, err = plan.Edit(template); err != nil {
			return err
		}
	}
	if in.Claim.Key() != claim.By(in.Winner).Key() {
		if in.Missing, err = kube.MissingOverrides(ctx, r.hub, in.Winner); err != nil {
			return err
		}
	}
	if spec.SchedulePriority == nil {
		return nil
	}
	class := &metav1.PartialObjectMetadata{}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"})
	name := spec.SchedulePriority.PriorityClassName
	err = r.hub.Get(ctx, client.ObjectKey{Name: name}, class)
	switch {
	case apierrors.IsNotFound(err):
		in.MissingClass = name
	case err != nil:
		return fmt.Errorf("reading PriorityClass %q: %w", name, err)
	}
	return nil
}

// bindingByName reads the binding of a template's name, which may be that of another object; nil if there is none.
func (r *Reader) bindingByName(ctx context.Context, template *unstructured.Unstructured) (kube.Binding, error) {
	b := kube.BindingsIn(template.GetNamespace()).New()
	key := client.ObjectKey{Namespace: template.GetNamespace(), Name: contract.BindingName(template.GetKind(), template.GetName())}
	err := r.hub.Get(ctx, key, b)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading binding %q: %w", key.Name, err)
	}
	return b, nil
}

// supposedOnHub gives policies that are not on the hub the id that the hub would assign, for which the detector would
// otherwise wait.
func supposedOnHub(policies []policyv1alpha1.Policy) []policyv1alpha1.Policy {
	out := slices.Clone(policies)
	for i, p := range out {
		if claim.By(p).ID != "" {
			continue
		}
		label := claim.IDLabel(p)
		switch p := p.(type) {
		case *policyv1alpha1.PropagationPolicy:
			p = p.DeepCopy()
			metav1.SetMetaDataLabel(&p.ObjectMeta, label, "supposed")
			out[i] = p
		case *policyv1alpha1.ClusterPropagationPolicy:
			p = p.DeepCopy()
			metav1.SetMetaDataLabel(&p.ObjectMeta, label, "supposed")
			out[i] = p
		}
	}
	return out
}
