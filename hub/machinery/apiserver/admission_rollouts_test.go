package apiserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
)

const rolloutAPI = "fairlead.dev/v1alpha1"

func TestRolloutStrategiesAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	awaitRolloutPolicies(t, a)
	tests := map[string]struct {
		spec string
		want string // part of the error; empty if the object is accepted
	}{
		"nothing": {spec: "{}\n"},
		"everything": {spec: `
namespaceSelector: {matchLabels: {env: prod}, matchExpressions: [{key: team, operator: NotIn, values: [lab]}]}
policySelector: {matchLabels: {tier: gold}, matchExpressions: [{key: a, operator: Exists}]}
settle: 30s
waves:
- {name: canary, clusters: {labelSelector: {matchLabels: {ring: "0"}}}, size: 1, orderByLabel: example.com/ring, maxConcurrent: 1, minUpdated: 0, soak: 1h30m, approval: After, maxFailures: 0}
- {name: tenth, clusters: {fieldSelector: {matchExpressions: [{key: region, operator: In, values: [eu]}]}}, size: 10%, maxConcurrent: 50%, maxFailures: 5%}
- {name: rest, maxConcurrent: 50, approval: Before, maxFailures: 100%}
progressDeadline: 10m
onFailure: RollBack
firstTime: Staged
catchUp: {maxClusters: 1, settle: 0s, to: Newest, warnAfter: 24h}
historyLimit: 0
`},
		"no wave but the rest":                  {spec: "waves: [{name: rest}]\n"},
		"no wave at all":                        {"waves: []\n", "spec.waves"},
		"a last wave of all":                    {spec: "waves: [{name: canary, size: 1}, {name: others}]\n"},
		"two waves of one name":                 {"waves: [{name: a, size: 1}, {name: a, size: 2}]\n", "spec.waves[1]: Duplicate value"},
		"a wave without a name":                 {"waves: [{size: 1}]\n", "spec.waves[0].name"},
		"a wave with a bad name":                {"waves: [{name: a b}]\n", "spec.waves[0].name"},
		"a wave of nobody":                      {"waves: [{name: a, size: 0}]\n", "spec.waves[0].size: Invalid value: 0: must be a number of clusters from 1, or a percentage from 1% to 100%"},
		"a wave of less than nobody":            {"waves: [{name: a, size: -1}]\n", "spec.waves[0].size"},
		"a wave of no part":                     {"waves: [{name: a, size: 0%}]\n", "percentage from 1% to 100%, or be left out for all that match; correct wave a (0%)"},
		"a wave of more than all":               {"waves: [{name: a, size: 101%}]\n", "correct wave a (101%)"},
		"a wave of half a percent":              {"waves: [{name: a, size: 0.5%}]\n", "spec.waves.size"},
		"a size that is none":                   {"waves: [{name: a, size: many}]\n", "correct wave a (many)"},
		"more clusters than can be counted":     {"waves: [{name: a, size: 5000000000}]\n", "spec.waves[0].size"},
		"nobody at a time":                      {"waves: [{name: a, maxConcurrent: 0}]\n", "spec.waves[0].maxConcurrent: Invalid value: 0: must be a number of clusters from 1"},
		"no part at a time":                     {"waves: [{name: a, maxConcurrent: 0%}]\n", "spec.waves.maxConcurrent: must be a number of clusters from 1"},
		"less than no failures":                 {"waves: [{name: a, maxFailures: -1}]\n", "spec.waves[0].maxFailures: Invalid value: -1: must be a number of clusters from 0"},
		"more failures than clusters":           {"waves: [{name: a, maxFailures: 200%}]\n", "correct wave a (200%)"},
		"less than none updated":                {"waves: [{name: a, minUpdated: -1}]\n", "spec.waves[0].minUpdated"},
		"a soak that ends before it begins":     {"waves: [{name: a, soak: -5m}]\n", "spec.waves[0].soak: Invalid value: \"-5m\": must be a duration that is not negative"},
		"a soak that is no time":                {"waves: [{name: a, soak: a while}]\n", "must be a duration that is not negative, such as 30s, 5m or 168h"},
		"a soak that is a number":               {"waves: [{name: a, soak: 5}]\n", "spec.waves[0].soak"},
		"an approval that nobody knows":         {"waves: [{name: a, approval: Perhaps}]\n", "spec.waves[0].approval"},
		"an order by what is no label":          {"waves: [{name: a, size: 1, orderByLabel: a b}]\n", "spec.waves.orderByLabel: \"a b\" is not a valid label key"},
		"the rest before others":                {"waves: [{name: rest}, {name: a, size: 1}]\n", "spec.waves: rest is the wave of the clusters that are in no other wave, so it must be the last one"},
		"a rest with a size":                    {"waves: [{name: rest, size: 1}]\n", "so it cannot have clusters or size"},
		"a wave after one of all":               {"waves: [{name: a}, {name: b, size: 1}]\n", "spec.waves: a takes all clusters that are left, so the waves after it would never have one"},
		"a wave after one of a hundred percent": {"waves: [{name: a, size: 100%}, {name: b, size: 1}]\n", "spec.waves: a takes all clusters that are left"},
		"clusters by a field that is none":      {"waves: [{name: a, clusters: {fieldSelector: {matchExpressions: [{key: planet, operator: In, values: [a]}]}}}]\n", "spec.waves.clusters: the key of a fieldSelector"},
		"clusters by labels compared wrongly":   {"waves: [{name: a, clusters: {labelSelector: {matchExpressions: [{key: a, operator: In}]}}}]\n", "spec: in matchExpressions of namespaceSelector, policySelector and clusters.labelSelector"},
		"policies by labels compared wrongly":   {"policySelector: {matchExpressions: [{key: a b, operator: Exists}]}\n", "spec: in matchExpressions of namespaceSelector, policySelector"},
		"namespaces by labels compared wrongly": {"namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}\n", "spec: in matchExpressions of namespaceSelector"},
		"a settle that is too long":             {"settle: 31s\n", "spec.settle: must be at most 30s, so that no edit waits longer, but is 31s"},
		"a settle that is negative":             {"settle: -1s\n", "spec.settle: Invalid value: \"-1s\": must be a duration that is not negative"},
		"a deadline that nobody can meet":       {"progressDeadline: 0s\n", "spec.progressDeadline: must be at least 1s"},
		"a warning at once":                     {"catchUp: {warnAfter: 0s}\n", "spec.catchUp.warnAfter: must be greater than 0"},
		"nobody catches up":                     {"catchUp: {maxClusters: 0}\n", "spec.catchUp.maxClusters"},
		"a return that settles before":          {"catchUp: {settle: -1s}\n", "spec.catchUp.settle"},
		"a history without end":                 {"historyLimit: 51\n", "spec.historyLimit"},
		"a failure that nobody knows":           {"onFailure: Panic\n", "spec.onFailure"},
		"the end of time":                       {"progressDeadline: 99999999999h\n", "spec.progressDeadline"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := a.try(t, rolloutAPI, "RolloutStrategy", tt.spec)
			if tt.want == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tt.want)))
			}
		})
	}
	t.Run("a name that means that there is none", func(t *testing.T) {
		t.Parallel()
		u := a.object(t, rolloutAPI, "RolloutStrategy", "{}\n")
		u.SetName("none")
		NewWithT(t).Expect(a.client.Create(t.Context(), u, client.DryRunAll)).To(MatchError(ContainSubstring("metadata.name: cannot be none")))
	})
	t.Run("the defaults become visible", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		s := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}
		g.Expect(a.client.Create(t.Context(), s, client.DryRunAll)).To(Succeed())
		g.Expect(s.Spec.Settle.Duration).To(Equal(2 * time.Second))
		g.Expect(s.Spec.Waves).To(HaveLen(2))
		g.Expect(s.Spec.Waves[0].Size).To(HaveValue(Equal(intstr.FromInt32(1))))
		g.Expect(s.Spec.Waves[1].Size).To(HaveValue(Equal(intstr.FromString("10%"))))
		g.Expect(s.Spec.Waves[0].MinUpdated).To(HaveValue(BeEquivalentTo(1)))
		g.Expect(s.Spec.ProgressDeadline.Duration).To(Equal(10 * time.Minute))
		g.Expect(s.Spec.OnFailure).To(Equal(fairleadv1alpha1.OnFailureHalt))
		g.Expect(s.Spec.FirstTime).To(BeEmpty(), "it depends on the waves, and so is filled in by the hub alone")
		g.Expect(s.Spec.CatchUp.MaxClusters).To(HaveValue(BeEquivalentTo(10)))
		g.Expect(s.Spec.CatchUp.WarnAfter.Duration).To(Equal(168 * time.Hour))
		g.Expect(s.Spec.HistoryLimit).To(HaveValue(BeEquivalentTo(10)))
	})
}

// awaitRolloutPolicies waits until the API server enforces the policies on rollouts.
func awaitRolloutPolicies(t *testing.T, a admission) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		return a.try(t, rolloutAPI, "RolloutStrategy", "settle: 31s\n")
	}, "1m", "50ms").ShouldNot(Succeed())
}

// rollout creates a StagedRollout as the hub would: at revision 5, with 4 and 2 kept.
func (a admission) rollout(t *testing.T) *fairleadv1alpha1.StagedRollout {
	t.Helper()
	g := NewWithT(t)
	r := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Namespace: a.namespace}}
	g.Expect(a.client.Create(t.Context(), r)).To(Succeed())
	r.Status = fairleadv1alpha1.StagedRolloutStatus{
		Revision: 5, Stable: 4, Waves: []fairleadv1alpha1.WaveStatus{{Name: "canary", Size: 1}, {Name: "rest", Size: 9}},
		Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 2, Hash: "b"}, {Number: 4, Hash: "d"}, {Number: 5, Hash: "e"}},
	}
	g.Expect(a.client.Status().Update(t.Context(), r)).To(Succeed())
	return r
}

func TestEditsOfRolloutsByPeopleAreValidated(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	awaitRolloutPolicies(t, a)
	type spec = fairleadv1alpha1.StagedRolloutSpec
	target := func(revision, over int64) *fairleadv1alpha1.RolloutTarget {
		return &fairleadv1alpha1.RolloutTarget{Revision: revision, Over: over}
	}
	approvals := func(revision int64, wave string) []fairleadv1alpha1.WaveApproval {
		return []fairleadv1alpha1.WaveApproval{{Revision: 2, Wave: "gone"}, {Revision: revision, Wave: wave}}
	}
	tests := map[string]struct {
		spec spec
		want string // part of the error; empty if the object is accepted
	}{
		"it is paused":                            {spec: spec{Paused: true}},
		"it goes back":                            {spec: spec{Target: target(2, 5)}},
		"it goes back to what is gone":            {spec{Target: target(3, 5)}, "spec.target.revision: revision 3 is not kept; those that are: 2, 4, 5"},
		"it goes back over what is there no more": {spec{Target: target(2, 4)}, "spec.target.over: must be the newest revision, which is 5 and not 4"},
		"it goes back to where it is":             {spec{Target: target(5, 5)}, "spec.target.revision: is the newest revision itself"},
		"it goes back to nothing":                 {spec{Target: target(0, 5)}, "spec.target.revision"},
		"a wave is approved":                      {spec: spec{Approvals: approvals(5, "rest")}},
		"a wave is approved that is none":         {spec{Approvals: approvals(5, "ret")}, "spec.approvals: revision 5 has no wave ret; its waves are canary, rest"},
		"what nobody has seen is approved":        {spec{Approvals: approvals(6, "rest")}, "spec.approvals: only an existing revision can be approved, and the newest is 5; leave out 6"},
		"a cluster is tried again":                {spec: spec{Retry: []fairleadv1alpha1.ClusterAtRevision{{Revision: 5, Cluster: "a", Attempt: "1"}}}},
		"a cluster is tried before its time":      {spec{Retry: []fairleadv1alpha1.ClusterAtRevision{{Revision: 6, Cluster: "a"}}}, "the newest is 5"},
		"a cluster is left out of what is to be":  {spec{Skip: []fairleadv1alpha1.ClusterAtRevision{{Revision: 6, Cluster: "a"}}}, "the newest is 5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := a.rollout(t)
			r.Spec = tt.spec
			err := a.client.Update(t.Context(), r)
			if tt.want != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.want)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			// A field about revisions that no longer exist may stay, and blocks no other update.
			r.Status.Revision, r.Status.Revisions = 9, nil
			g.Expect(a.client.Status().Update(t.Context(), r)).To(Succeed())
			r.Spec.Paused = !r.Spec.Paused
			g.Expect(a.client.Update(t.Context(), r)).To(Succeed())
		})
	}
}

func TestApprovalsNeedARightOfTheirOwn(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	awaitRolloutPolicies(t, a)
	g := NewWithT(t)
	hub := installedHub(t)
	as := func(user string) client.Client {
		cfg := rest.CopyConfig(hub.Config)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		s, err := kube.NewScheme()
		g.Expect(err).NotTo(HaveOccurred())
		c, err := client.New(cfg, client.Options{Scheme: s})
		g.Expect(err).NotTo(HaveOccurred())
		return c
	}
	subject := func(user string) []rbacv1.Subject {
		return []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	}
	g.Expect(a.client.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "author", Namespace: a.namespace},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"fairlead.dev"}, Resources: []string{"stagedrollouts"}, Verbs: []string{"get", "create", "patch", "update"}}},
	})).To(Succeed())
	for user, ref := range map[string]rbacv1.RoleRef{
		"author": {APIGroup: rbacv1.GroupName, Kind: "Role", Name: "author"},
		"ada":    {APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-rollout-approver"},
	} {
		g.Expect(a.client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user, Namespace: a.namespace}, RoleRef: ref, Subjects: subject(user),
		})).To(Succeed())
	}
	author, ada := as("author"), as("ada")
	r := a.rollout(t)
	key := client.ObjectKeyFromObject(r)
	change := func(c client.Client, f func(*fairleadv1alpha1.StagedRolloutSpec)) error {
		live := &fairleadv1alpha1.StagedRollout{}
		if err := c.Get(t.Context(), key, live); err != nil {
			return err
		}
		f(&live.Spec)
		return c.Update(t.Context(), live)
	}
	approve := func(s *fairleadv1alpha1.StagedRolloutSpec) {
		s.Approvals = append(s.Approvals, fairleadv1alpha1.WaveApproval{Revision: 5, Wave: "rest"})
	}
	pause := func(s *fairleadv1alpha1.StagedRolloutSpec) { s.Paused = !s.Paused }

	g.Eventually(func() error { return change(author, pause) }, "1m", "50ms").Should(Succeed(), "the authorizer reads roles a moment later")
	g.Expect(change(author, approve)).To(And(Satisfy(apierrors.IsForbidden),
		MatchError(ContainSubstring("spec.approvals: author may change this rollout, but not approve its waves, which needs the verb approve on stagedrollouts.fairlead.dev in namespace "+a.namespace))))
	g.Expect(author.Create(t.Context(), &fairleadv1alpha1.StagedRollout{
		ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: a.namespace},
		Spec:       fairleadv1alpha1.StagedRolloutSpec{Approvals: []fairleadv1alpha1.WaveApproval{{Revision: 1, Wave: "rest"}}},
	})).To(Satisfy(apierrors.IsForbidden), "nor in advance")
	g.Eventually(func() error { return change(ada, approve) }, "1m", "50ms").Should(Succeed())
	g.Expect(change(author, pause)).To(Succeed(), "what is approved does not keep others from the rest")
	g.Expect(change(author, func(s *fairleadv1alpha1.StagedRolloutSpec) { s.Approvals = nil })).To(Satisfy(apierrors.IsForbidden), "nor does it go without the right")

	global := &fairleadv1alpha1.ClusterStagedRollout{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
		Spec:       fairleadv1alpha1.StagedRolloutSpec{Approvals: []fairleadv1alpha1.WaveApproval{{Revision: 1, Wave: "rest"}}},
	}
	g.Expect(a.client.Create(t.Context(), global, client.DryRunAll)).To(Succeed(), "an administrator may do everything")
	g.Expect(a.client.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "rollout-author"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"fairlead.dev"}, Resources: []string{"clusterstagedrollouts"}, Verbs: []string{"create"}}},
	})).To(Succeed())
	g.Expect(a.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "rollout-author"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "rollout-author"},
		Subjects: subject("author"),
	})).To(Succeed())
	g.Eventually(func() error { return author.Create(t.Context(), global.DeepCopy(), client.DryRunAll) }, "1m", "50ms").
		Should(MatchError(ContainSubstring("which needs the verb approve on clusterstagedrollouts.fairlead.dev, which")))
}

func TestAnAgentHasNoSayInRollouts(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	hub := installedHub(t)
	agent := agentWithEveryRight(t, hub)
	awaitRolloutPolicies(t, a)
	g := NewWithT(t)
	r := a.rollout(t)
	expectRefused(t, agent.Create(t.Context(), &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: "of-an-agent"}}), "create", "of-an-agent")
	r.Spec.Paused = true
	expectRefused(t, agent.Update(t.Context(), r), "change", r.Name)
	r.Status.Stable = 5
	expectRefused(t, agent.Status().Update(t.Context(), r), "change", r.Name)
	expectRefused(t, agent.Delete(t.Context(), r), "delete", r.Name)
	g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(r), r)).To(Succeed())
	g.Expect(r.Status.Stable).To(BeEquivalentTo(4))
}
