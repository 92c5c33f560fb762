package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/hub/people/explain"
	"fairlead.dev/hub/people/view/applications"
)

// Explain explains the placement of an object on the hub.
func (r *Reader) Explain(ctx context.Context, ref Ref) (*explain.Report, error) {
	template, err := r.Template(ctx, ref)
	if err != nil {
		return nil, err
	}
	report := reportOf(template)
	policies, err := r.policies(ctx, template)
	unread := apierrors.IsForbidden(err)
	switch {
	case unread:
		report.State = append(report.State, "You may not read all policies: whether another one selects it is not shown.")
	case err != nil:
		return nil, err
	}
	scalers, err := r.scalers(ctx, template)
	if err != nil {
		return nil, err
	}
	report.State = append(report.State, scalers...)
	others, err := r.otherVersions(ctx, template)
	if err != nil {
		return nil, err
	}
	holder, claimed := holderOf(template, policies)
	report.Policies = explain.Policies(policies, holder, claimed, selector.TargetOf(template), others...)
	report.NearMisses = explain.NearMisses(policies, report.Policies, selector.TargetOf(template), others...)
	excluded, err := r.exclusions(ctx)
	if err != nil {
		return nil, err
	}
	if why := whyStays(excluded, template.GroupVersionKind(), template); why != "" {
		stay(report, excluded, why)
	} else if _, err := r.explainApplied(ctx, report, template, contest{policies, unread, others, r.once(ctx)}); err != nil {
		return nil, err
	}
	b, err := r.Binding(ctx, RefOf(template))
	if err != nil {
		return nil, err
	}
	if b != nil {
		if err := r.explainBinding(ctx, report, b); err != nil {
			return nil, err
		}
	}
	report.Advice = explain.Advise(report)
	return report, nil
}

func reportOf(template *unstructured.Unstructured) *explain.Report {
	r := &explain.Report{Template: applications.Template{
		APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Namespace: template.GetNamespace(), Name: template.GetName(),
	}}
	if template.GetDeletionTimestamp() != nil {
		r.State = append(r.State, "It is being deleted, and gets no new binding.")
	}
	if template.GetAnnotations()[contract.TemplateEditAnnotation] != "" {
		r.State = append(r.State, "Its policy is lazy: what the policy says now takes effect with the next edit of this object.")
	}
	return r
}

// policies reads all policies that could select an object. If only those of its namespace can be read, it returns them
// together with the error.
func (r *Reader) policies(ctx context.Context, template *unstructured.Unstructured) ([]policyv1alpha1.Policy, error) {
	var out []policyv1alpha1.Policy
	if template.GetNamespace() != "" {
		var list policyv1alpha1.PropagationPolicyList
		if err := r.hub.List(ctx, &list, client.InNamespace(template.GetNamespace())); err != nil {
			return nil, fmt.Errorf("listing PropagationPolicies: %w", err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	var list policyv1alpha1.ClusterPropagationPolicyList
	if err := r.hub.List(ctx, &list); err != nil {
		return out, fmt.Errorf("listing ClusterPropagationPolicies: %w", err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// otherVersions returns the other apiVersions in which the hub serves an object's kind.
func (r *Reader) otherVersions(ctx context.Context, template *unstructured.Unstructured) ([]string, error) {
	kind := template.GroupVersionKind()
	versions, err := r.served.Versions(ctx, kind.GroupKind())
	return match.Others(kind, versions), err
}

// holderOf returns the policy for a template, and whether it has already claimed the template.
func holderOf(template *unstructured.Unstructured, policies []policyv1alpha1.Policy) (policyv1alpha1.Policy, bool) {
	c, ok := claim.On(template)
	if !ok {
		return nil, false
	}
	p := policyNamed(policies, c.Namespace, c.Name)
	return p, p != nil
}

// policyNamed returns the policy with a name; nil if there is none.
func policyNamed(policies []policyv1alpha1.Policy, namespace, name string) policyv1alpha1.Policy {
	for _, p := range policies {
		if p.GetNamespace() == namespace && p.GetName() == name {
			return p
		}
	}
	return nil
}

// explainBinding explains the decisions about a binding.
func (r *Reader) explainBinding(ctx context.Context, report *explain.Report, b kube.Binding) error {
	spec, status := b.BindingSpec(), b.BindingStatus()
	if c := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled); c != nil {
		report.Scheduled = &explain.Scheduled{
			Status: string(c.Status), Reason: c.Reason, Message: c.Message, Last: status.LastScheduledTime, Group: status.SchedulerObservedAffinityName,
		}
	}
	if s := spec.Suspension; s != nil && s.Scheduling != nil && *s.Scheduling {
		report.State = append(report.State, "Scheduling of its binding is suspended: its clusters stay as they are.")
	}
	for _, kind := range []string{
		workv1alpha2.BindingRendered, workv1alpha2.BindingEvicting, workv1alpha2.BindingDependencyPolicyConflict, workv1alpha2.BindingDependenciesLeftOut,
	} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			report.State = append(report.State, c.Message)
		}
	}
	report.Moves = explain.Moves(b)
	for _, s := range bindings.Snapshots(spec) {
		by := s.Namespace + "/" + s.Name
		if s.Name == "" {
			by = "what is in the namespace"
		}
		report.State = append(report.State, fmt.Sprintf("It follows %s to %s.", by, explain.Targets(s.Clusters)))
	}
	clusters, err := r.clusters(ctx)
	if apierrors.IsForbidden(err) {
		report.State = append(report.State, "You may not read Clusters: the reasons for its clusters are not shown.")
		report.Now = "It is in " + explain.Targets(spec.Clusters) + "."
		return nil
	}
	if err != nil {
		return err
	}
	if spec.Placement != nil {
		w, err := r.gatherDecision(ctx, report, b, clusters)
		if err != nil {
			return err
		}
		asIs := decide.InputOf(b, w)
		in := asIs
		in.AppliedPlacement, in.Explain = "", true // explain the decision even if it was already made
		d := decide.Decide(in)
		report.Attempts = explain.Attempts(d, spec.Clusters)
		explain.TellUnknown(report.Attempts, clusters)
		report.Now = explain.ChangeSentence(d, spec.Clusters)
		if hints.Responsible(b) {
			// What the scheduler would do if only capacity had changed.
			report.Better = explain.FailbackSentence(decide.Decide(asIs))
		}
		if d.Outcome == decide.Refused {
			report.State = append(report.State, d.Message)
		}
	}
	return r.members(ctx, report, b, clusters)
}

func (r *Reader) clusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	out, err := kube.Clusters(ctx, r.hub)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b *clusterv1alpha1.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
