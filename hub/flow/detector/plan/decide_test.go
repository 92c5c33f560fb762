package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

// held is the input for a template of an existing policy, with the binding made of it.
func held() Input {
	p := &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"}},
		Spec:       *spec(),
	}
	t := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "7", Generation: 2},
	}
	claim.Set(t, claimOf())
	b := &workv1alpha2.ResourceBinding{}
	Desired{Kind: t.GroupVersionKind(), Demand: Demand{Meta: t, Replicas: 3}, Rules: "1", Claim: claimOf(), Policy: spec()}.Update(b)
	return Input{Template: t, Claim: claimOf(), Holder: p, Winner: p, Binding: b, Workload: true, Rules: "1"}
}

// rival is a policy that does not have the template of held.
func rival() *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rival", Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "other"}},
		Spec:       *spec(),
	}
}

func going(obj metav1.Object) { obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)}) }

func TestDecide(t *testing.T) {
	t.Parallel()
	none, own, other := new(claim.Claim{}), new(claimOf()), new(claim.Claim{Namespace: "shop", Name: "rival", ID: "other"})
	cases := map[string]struct {
		given func(*Input)
		// want is compared except for the binding; binds says whether the binding is written.
		want  Plan
		binds bool
	}{
		"a current binding is planned without a demand": {given: func(*Input) {}, want: Plan{Outcome: Bound}, binds: true},
		"a template that changed is read first": {
			given: func(in *Input) { in.Template.Generation = 3 }, want: Plan{Outcome: Bound, Read: true}, binds: true,
		},
		"a template is read again when the rules changed": {
			given: func(in *Input) { in.Rules = "2" }, want: Plan{Outcome: Bound, Read: true}, binds: true,
		},
		"the demand that was read is used": {
			given: func(in *Input) { in.Template.Generation, in.Demand = 3, &Demand{Meta: in.Template} }, want: Plan{Outcome: Bound}, binds: true,
		},
		"an object that is not a workload is not read": {
			given: func(in *Input) { in.Template.Generation, in.Workload = 3, false }, want: Plan{Outcome: Bound}, binds: true,
		},
		"a new claim is written, and its response has the demand": {
			given: func(in *Input) { in.Winner, in.Victim = rival(), in.Holder }, want: Plan{Outcome: Bound, Read: true, Claim: other}, binds: true,
		},
		"the same template in another version is read, and the binding gets that version": {
			given: func(in *Input) { in.Template.APIVersion = "apps/v2" }, want: Plan{Outcome: Bound, Read: true}, binds: true,
		},
		"a policy that has it in another version does nothing in this one": {
			given: func(in *Input) { in.OtherVersion = "apps/v2" }, want: Plan{Outcome: Elsewhere},
		},
		"a policy that gets it in another version does nothing in this one": {
			given: func(in *Input) { in.OtherVersion, in.Winner, in.Victim = "apps/v2", rival(), in.Holder }, want: Plan{Outcome: Elsewhere},
		},
		"an excluded template is released in any version": {
			given: func(in *Input) { in.OtherVersion, in.Excluded, in.Holder = "apps/v2", true, nil },
			want:  Plan{Outcome: Released, Claim: none, BindingClaim: none},
		},
		"a demand that was read before a new claim is not used": {
			given: func(in *Input) { in.Winner, in.Demand = rival(), &Demand{} }, want: Plan{Outcome: Bound, Read: true, Claim: other}, binds: true,
		},
		"the first claim": {
			given: func(in *Input) { in.Claim, in.Binding = claim.Claim{}, nil }, want: Plan{Outcome: Bound, Read: true, Claim: own}, binds: true,
		},
		"a policy without an id waits for it": {
			given: func(in *Input) { in.Winner.SetLabels(nil) }, want: Plan{},
		},
		"a template that is being deleted gets no binding": {
			given: func(in *Input) { going(in.Template); in.Binding = nil }, want: Plan{},
		},
		"a missing override policy delays the claim": {
			given: func(in *Input) { in.Winner, in.Missing = rival(), []string{"o"} },
			want:  Plan{Outcome: Waiting, Why: `waiting for dependent overrides: create OverridePolicy "o", or remove it from dependentOverrides of the policy`},
		},
		"a missing override policy does not matter once the template is claimed": {
			given: func(in *Input) { in.Missing = []string{"o"} }, want: Plan{Outcome: Bound}, binds: true,
		},
		"the binding of another object is not touched": {
			given: func(in *Input) { in.Template.UID = "u2" },
			want: Plan{Outcome: NameTaken, Why: `the binding belongs to another object: "web-deployment" is the binding of apps/v1 Deployment "web" with uid u1; ` +
				`if that object is gone, the binding will be removed shortly, otherwise rename one of the two objects`},
		},
		"an old binding must be gone first": {
			given: func(in *Input) { going(in.Binding) }, want: Plan{Outcome: Leaving},
		},
		"a PriorityClass is waited for with the claim": {
			given: func(in *Input) { in.Winner, in.MissingClass = rival(), "high" },
			want:  Plan{Outcome: NoPriority, Claim: other, Why: `the hub has no PriorityClass "high": create it, or correct spec.schedulePriority of the policy`},
		},
		"a lazy policy that takes a template changes the claims only": {
			given: func(in *Input) {
				p := rival()
				p.Spec.ActivationPreference = policyv1alpha1.LazyActivation
				in.Winner, in.Edit = p, "e"
			},
			want: Plan{Outcome: Postponed, Claim: other, BindingClaim: other, Edit: "e"},
		},
		"a lazy policy does not touch the binding of another object": {
			given: func(in *Input) {
				in.Winner.PropagationSpec().ActivationPreference = policyv1alpha1.LazyActivation
				in.Template.UID, in.Edit = "u2", "e"
			},
			want: Plan{Outcome: Postponed, Edit: "e"},
		},
		"an edit applies a lazy policy, and is recorded afterwards": {
			given: func(in *Input) {
				in.Winner.PropagationSpec().ActivationPreference = policyv1alpha1.LazyActivation
				in.Template.Annotations[contract.TemplateEditAnnotation], in.Edit = "old", "e"
				in.Demand = &Demand{Meta: in.Template}
			},
			want: Plan{Outcome: Bound, Edit: "e"}, binds: true,
		},
		"without a policy the template and the binding are released": {
			given: func(in *Input) { in.Winner = nil }, want: Plan{Outcome: Released, Claim: none, BindingClaim: none},
		},
		"without a policy the template is released, but not the binding of another object": {
			given: func(in *Input) { in.Winner = nil; in.Template.UID = "u2" }, want: Plan{Outcome: Released, Claim: none},
		},
		"an unclaimed template is not touched": {
			given: func(in *Input) { claim.Clear(in.Template); in.Claim, in.Winner, in.Binding = claim.Claim{}, nil, nil }, want: Plan{},
		},
		"an incomplete claim is removed": {
			given: func(in *Input) {
				delete(in.Template.Labels, contract.PropagationPolicyPermanentIDLabel)
				in.Claim, in.Winner, in.Binding = claim.Claim{}, nil, nil
			},
			want: Plan{Outcome: Released, Claim: none},
		},
		"an excluded template keeps the claim of a policy that stays": {
			given: func(in *Input) { in.Excluded = true }, want: Plan{},
		},
		"an excluded template is released by a policy that is being deleted": {
			given: func(in *Input) { in.Excluded = true; going(in.Holder) }, want: Plan{Outcome: Released, Claim: none, BindingClaim: none},
		},
		"an excluded template is released by a policy that is gone": {
			given: func(in *Input) { in.Excluded, in.Holder = true, nil }, want: Plan{Outcome: Released, Claim: none, BindingClaim: none},
		},
		"an excluded template without a claim is not touched": {
			given: func(in *Input) { in.Excluded, in.Claim, in.Holder = true, claim.Claim{}, nil }, want: Plan{},
		},
		"the binding of a deleted template keeps the claim of a policy that stays": {
			given: func(in *Input) { in.Template = nil }, want: Plan{},
		},
		"the binding of a deleted template is released by a policy that is being deleted": {
			given: func(in *Input) { in.Template = nil; going(in.Holder) }, want: Plan{Outcome: Released, BindingClaim: none},
		},
		"preserveResourcesOnDeletion of the policy is copied on release": {
			given: func(in *Input) {
				in.Winner = nil
				in.Holder.PropagationSpec().PreserveResourcesOnDeletion, in.Binding.BindingSpec().PreserveResourcesOnDeletion = new(true), nil
				going(in.Holder)
			}, want: Plan{Outcome: Released, Claim: none, BindingClaim: none, Preserve: true},
		},
		"preserveResourcesOnDeletion is copied on release of a deleted template": {
			given: func(in *Input) {
				in.Template = nil
				in.Holder.PropagationSpec().PreserveResourcesOnDeletion, in.Binding.BindingSpec().PreserveResourcesOnDeletion = new(true), nil
				going(in.Holder)
			}, want: Plan{Outcome: Released, BindingClaim: none, Preserve: true},
		},
		"a binding that is being deleted as well is not touched": {
			given: func(in *Input) { in.Template, in.Holder = nil, nil; going(in.Binding) }, want: Plan{},
		},
		"a deleted template without a binding needs nothing": {
			given: func(in *Input) { *in = Input{} }, want: Plan{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := held()
			tc.given(&in)
			got := Decide(in)
			g.Expect(got.Binding != nil).To(Equal(tc.binds), "whether the binding is written")
			got.Binding = nil
			g.Expect(got).To(BeComparableTo(tc.want))
		})
	}
}

func TestDecidePlansBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := held()
	in.Winner.SetAnnotations(map[string]string{contract.ReturnToPreferredAnnotation: "true"})
	in.Priority = new(int32(7))
	in.Template.Generation, in.Demand = 3, &Demand{Meta: in.Template, Replicas: 5}
	p := Decide(in)
	p.Binding.Update(in.Binding)
	g.Expect(in.Binding.BindingSpec().Replicas).To(Equal(int32(5)))
	g.Expect(in.Binding.BindingSpec().SchedulePriority).To(HaveValue(HaveField("Priority", BeEquivalentTo(7))))
	g.Expect(in.Binding.GetAnnotations()).To(HaveKeyWithValue(contract.ReturnToPreferredAnnotation, "true"))
	g.Expect(Current(in.Binding, in.Template.GroupVersionKind(), in.Template, "1")).To(BeTrue())
	g.Expect(in.Binding.GetOwnerReferences()).To(ConsistOf(HaveField("UID", types.UID("u1"))))

	// Only the version differs: the binding is the same object, with the new version.
	in.Template.APIVersion, in.Demand.Replicas = "apps/v2", 6
	before := in.Binding.GetName()
	p = Decide(in)
	g.Expect(p.Read).To(BeFalse())
	p.Binding.Update(in.Binding)
	g.Expect(in.Binding.GetName()).To(Equal(before))
	g.Expect(in.Binding.BindingSpec().Resource.APIVersion).To(Equal("apps/v2"))
	g.Expect(in.Binding.BindingSpec().Replicas).To(Equal(int32(6)))
	g.Expect(in.Binding.GetOwnerReferences()).To(ConsistOf(HaveField("APIVersion", "apps/v2")))
}
