package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

// rollout inspects and steers a rollout, whose status the test writes in place of the hub's stage.
func (l *lookout) rollout(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	const web = "deployment/web"
	key := client.ObjectKey{Namespace: "default", Name: "web-deployment"}
	_, said := l.run(ExitFailed, "rollout", "status", web)
	g.Expect(said).To(ContainSubstring("the changes of Deployment default/web go to all clusters at once: to send them in waves, give its policy the annotation fairlead.dev/rollout-strategy"))
	file := filepath.Join(t.TempDir(), "strategy.yaml")
	g.Expect(os.WriteFile(file, []byte("apiVersion: fairlead.dev/v1alpha1\nkind: RolloutStrategy\nmetadata: {name: calm}\nspec: {waves: [{name: one, size: 1, soak: 1m}]}\n"), 0o600)).To(Succeed())
	out, _ := l.run(ExitDone, "rollout", "plan", web, "-f", file)
	g.Expect(out).To(MatchRegexp(`one +1 +[01] +1 +1 +0 +60s +- +edge-\d.*\nrest +2 +[01] +2 +1 +0 +- +- +edge-\d, edge-\d +-\n`))
	_, said = l.run(ExitFailed, "rollout", "plan", web)
	g.Expect(said).To(ContainSubstring("name a file with a RolloutStrategy by -f"))
	_, said = l.run(ExitDone, "rollout", "status")
	g.Expect(said).To(ContainSubstring("No application goes out in waves"))
	b := &workv1alpha2.ResourceBinding{}
	annotate := func(value string) {
		g.Expect(l.c.Get(t.Context(), key, b)).To(Succeed())
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, contract.RolloutStrategyAnnotation, value)
		if value == "" {
			delete(b.Annotations, contract.RolloutStrategyAnnotation)
		}
		g.Expect(l.c.Update(t.Context(), b)).To(Succeed())
	}
	annotate("calm")
	defer annotate("")
	_, said = l.run(ExitFailed, "rollout", "status", web)
	g.Expect(said).To(ContainSubstring(`the hub has not processed Deployment default/web with the RolloutStrategy "calm" yet`))

	ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	l.create(ro)
	defer func() { g.Expect(l.c.Delete(t.Context(), ro)).To(Succeed()) }()
	status := func(change func(*fairleadv1alpha1.StagedRolloutStatus)) {
		g.Expect(l.c.Get(t.Context(), key, ro)).To(Succeed())
		change(&ro.Status)
		g.Expect(l.c.Status().Update(t.Context(), ro)).To(Succeed())
	}
	_, said = l.run(ExitFailed, "rollout", "pause", web)
	g.Expect(said).To(ContainSubstring("it has no revision yet"))
	begun := metav1.NewTime(time.Now().Add(-9 * time.Hour)) // minutes are shown below eight hours, seconds below ten minutes
	status(func(s *fairleadv1alpha1.StagedRolloutStatus) {
		*s = fairleadv1alpha1.StagedRolloutStatus{
			Strategy: "calm", Phase: fairleadv1alpha1.RolloutHalted, Revision: 3, Stable: 2, Wave: "canary",
			Waves: []fairleadv1alpha1.WaveStatus{{Name: "canary", Size: 1, Failed: 1, StartedAt: &begun}, {Name: "rest", Size: 2, Held: 1, SetAside: 1}},
			Revisions: []fairleadv1alpha1.RevisionStatus{
				{Number: 1, Hash: "a", Cause: "Adopted", CreatedAt: begun}, {Number: 2, Hash: "b", Cause: "Edited", CreatedAt: begun}, {Number: 3, Hash: "c", Cause: "Edited", CreatedAt: begun},
			},
			Clusters: []fairleadv1alpha1.ClusterGroup{
				{State: fairleadv1alpha1.ClusterFailed, Revision: 3, Reason: "Refused", Names: []string{"edge-3"}},
				{State: fairleadv1alpha1.ClusterSetAside, Reason: "Silent", Names: []string{"edge-2"}},
			},
			Conditions: []metav1.Condition{{
				Type: fairleadv1alpha1.RolloutConditionHalted, Status: metav1.ConditionTrue, Reason: fairleadv1alpha1.ReasonRolloutTooManyFailed,
				Message: "Wave canary may have no failure, and edge-3 failed.", LastTransitionTime: begun,
			}},
		}
	})
	l.mark(g, map[string]string{"edge-1": "2-b", "edge-2": "1-a", "edge-3": "3-c"})

	t.Run("what is seen", func(t *testing.T) {
		g := NewWithT(t)
		out, said := l.run(ExitHalted, "rollout", "status", web)
		g.Expect(out).To(HavePrefix("deployment/web r3 (stable r2) wave 1/2 canary: 0/1 healthy, 1 failed; halted\n\nWAVE "))
		g.Expect(out).To(MatchRegexp(`canary +1 +0 +0 +1 +0 +0 +0 +0 +began 9h ago\nrest +2 +0 +0 +0 +0 +1 +1 +0 +not begun\n`))
		g.Expect(out).To(And(ContainSubstring("\nFailed with r3 (Refused): edge-3\nSet aside (Silent): edge-2\nWave canary may have no failure, and edge-3 failed.\n"),
			ContainSubstring("Next: Correct the template, which makes a new revision; or `hub rollout retry deployment/web -n default` retries the clusters")))
		g.Expect(said).To(Equal("Error: the rollout of Deployment default/web is halted at r3\n"))
		out, _ = l.run(ExitHalted, "rollout", "status", web, "--clusters")
		g.Expect(out).To(MatchRegexp(`edge-1 +Held +r2 +\S+ +r2 +It waits for its turn with r2\.\nedge-2 +Set aside +r1 +\S+ +r1 +It catches up`))
		g.Expect(out).To(MatchRegexp(`edge-3 +Failed +r3 +\S+ +r3 +It was sent r3 and failed \(Refused\)\.`))
		out, _ = l.run(ExitHalted, "rollout", "status", web, "--clusters", "-o", "json")
		var one map[string]any
		g.Expect(json.Unmarshal([]byte(out), &one)).To(Succeed())
		g.Expect(one).To(And(HaveKeyWithValue("halted", true), HaveKeyWithValue("revision", BeEquivalentTo(3)), HaveKeyWithValue("clusters", HaveLen(3))))
		_, said = l.run(ExitHalted, "rollout", "status", web, "--watch")
		g.Expect(said).To(HaveSuffix("Error: the rollout of Deployment default/web is halted at r3\n"))
		out, _ = l.run(ExitDone, "rollout", "status")
		g.Expect(out).To(MatchRegexp(`default +Halted +no +deployment/web r3 \(stable r2\) wave 1/2 canary`))
		out, _ = l.run(ExitDone, "rollout", "history", web)
		g.Expect(out).To(MatchRegexp(`3 +9h +1 +going out +edited\n2 +9h +1 +stable +edited\n1 +9h +1 +- +what ran when the strategy was set\n`))
		l.kept(g, ro)
		out, _ = l.run(ExitDone, "explain", web)
		g.Expect(out).To(ContainSubstring("Rollout by the strategy calm: deployment/web r3 (stable r2) wave 1/2 canary: 0/1 healthy, 1 failed; halted\n"))
		g.Expect(out).To(MatchRegexp(`edge-1 .* it has r2\. It waits for its turn with r2\.`))
		g.Expect(out).To(HaveSuffix("Next: Correct the template, which makes a new revision; or `hub rollout retry deployment/web -n default` retries the clusters that failed, `hub rollout abort deployment/web -n default` takes it back where it was sent.\n"))
		out, _ = l.run(ExitDone, "__complete", "rollout", "pause", "dep")
		g.Expect(out).To(HavePrefix("deployment/web\n"))
	})
	t.Run("what is steered", func(t *testing.T) { l.steer(NewWithT(t), web, key, status) })
	t.Run("when it is over", func(t *testing.T) {
		g := NewWithT(t)
		status(func(s *fairleadv1alpha1.StagedRolloutStatus) {
			s.Phase, s.Stable, s.Wave, s.Clusters, s.Conditions = fairleadv1alpha1.RolloutCompleted, 3, "", s.Clusters[1:], []metav1.Condition{{
				Type: fairleadv1alpha1.RolloutConditionCaughtUp, Status: metav1.ConditionFalse, Reason: fairleadv1alpha1.ReasonRolloutClustersBehind,
				Message: "1 cluster is behind: edge-2.", LastTransitionTime: metav1.Now(),
			}}
		})
		out, said := l.run(ExitDone, "rollout", "status", web, "-w")
		g.Expect(out).To(HavePrefix("deployment/web r3 completed: "))
		g.Expect(said).To(BeEmpty())
		_, said = l.run(ExitNo, "rollout", "status", web, "--caught-up")
		g.Expect(said).To(Equal("Error: r3 of Deployment default/web has passed every wave, and clusters are behind\n"))
		_, said = l.run(ExitTimeout, "rollout", "status", web, "--watch", "--caught-up", "--timeout", "1s")
		g.Expect(said).To(ContainSubstring("the rollout of Deployment default/web is not over after 1s. 1 cluster is behind: edge-2."))
		_, said = l.run(ExitFailed, "rollout", "abort", web)
		g.Expect(said).To(ContainSubstring("r3 has passed every wave, so there is nothing to abort; undo goes back"))
	})
}

// steer does everything that people can do to a rollout, and checks what was written.
func (l *lookout) steer(g *WithT, web string, key client.ObjectKey, status func(func(*fairleadv1alpha1.StagedRolloutStatus))) {
	spec := func() *fairleadv1alpha1.StagedRolloutSpec {
		ro := &fairleadv1alpha1.StagedRollout{}
		g.Expect(l.c.Get(l.t.Context(), key, ro)).To(Succeed())
		return &ro.Spec
	}
	out, _ := l.run(ExitDone, "rollout", "pause", web)
	g.Expect(out).To(Equal("deployment/web is paused: r3 is sent to no further cluster; `hub rollout resume deployment/web -n default` resumes it\n"))
	g.Expect(spec().Paused).To(BeTrue())
	out, _ = l.run(ExitDone, "rollout", "pause", web)
	g.Expect(out).To(HaveSuffix("(as before)\n"))
	_, said := l.run(ExitDone, "rollout", "undo", web)
	g.Expect(said).To(Equal("It is paused: `hub rollout resume deployment/web -n default` resumes it\n"))
	out, _ = l.run(ExitDone, "rollout", "resume", web)
	g.Expect(out).To(Equal("deployment/web goes on\n"))
	g.Expect(spec().Paused).To(BeFalse())

	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 2, Over: 3}))
	out, _ = l.run(ExitDone, "rollout", "undo", web, "--to-revision", "1", "--now")
	g.Expect(out).To(Equal("deployment/web goes back from r3 to the content of r1, to all clusters at once; the template stays as it is\n"))
	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 3, Immediately: true}))
	_, said = l.run(ExitFailed, "rollout", "undo", web, "--to-revision", "7")
	g.Expect(said).To(Equal("Error: r7 is not kept; the kept revisions are 1, 2, 3; `hub rollout history deployment/web -n default` shows the revisions\n"))
	g.Expect(spec().Target.Revision).To(BeEquivalentTo(1), "what is refused changes nothing")
	out, _ = l.run(ExitDone, "rollout", "abort", web)
	g.Expect(out).To(Equal("deployment/web: r3 is aborted: the clusters that have it go back at once to the content of r2; the template stays as it is\n"))
	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 2, Over: 3, Immediately: true}))

	out, _ = l.run(ExitDone, "rollout", "retry", web)
	g.Expect(out).To(Equal("deployment/web: r3 is tried again in edge-3\n"))
	g.Expect(spec().Retry).To(HaveLen(1))
	_, said = l.run(ExitFailed, "rollout", "retry", web, "edge-1")
	g.Expect(said).To(ContainSubstring(`cluster "edge-1" has neither failed with r3 nor is it skipped; ` + "`hub rollout status deployment/web -n default --clusters` shows the status of each"))
	out, _ = l.run(ExitDone, "rollout", "skip", web, "edge-2", "edge-3")
	g.Expect(out).To(Equal("deployment/web: r3 leaves out edge-2, edge-3\n"))
	g.Expect(spec().Skip).To(Equal([]fairleadv1alpha1.ClusterAtRevision{{Revision: 3, Cluster: "edge-2"}, {Revision: 3, Cluster: "edge-3"}}))
	_, said = l.run(ExitFailed, "rollout", "skip", web, "edge-9")
	g.Expect(said).To(ContainSubstring(`cluster "edge-9" is not one of its clusters`))

	_, said = l.run(ExitFailed, "rollout", "approve", web)
	g.Expect(said).To(ContainSubstring("no wave waits for approval; to approve one before it does, name it with --wave, one of canary, rest"))
	status(func(s *fairleadv1alpha1.StagedRolloutStatus) {
		s.Phase = fairleadv1alpha1.RolloutWaiting
		s.Conditions = []metav1.Condition{{
			Type: fairleadv1alpha1.RolloutConditionProgressing, Status: metav1.ConditionFalse, Reason: fairleadv1alpha1.ReasonRolloutNeedsApproval,
			Message: "Wave canary is well and is to be approved.", LastTransitionTime: metav1.Now(),
		}}
	})
	_, said = l.run(ExitTimeout, "rollout", "status", web, "--watch", "--timeout", "100ms")
	g.Expect(said).To(And(HavePrefix("Wave canary is well and is to be approved.\nNext: `hub rollout approve"),
		ContainSubstring("is not over after 100ms. Wave canary is well and is to be approved.")))
	out, said = l.run(ExitNo, "rollout", "status", web)
	g.Expect(out).To(ContainSubstring("Next: `hub rollout approve deployment/web -n default --revision 3` goes on; `hub rollout abort deployment/web -n default` takes it back.\n"))
	g.Expect(said).To(Equal("Error: the rollout of Deployment default/web is not over yet\n"))
	_, said = l.run(ExitFailed, "rollout", "approve", web, "--revision", "2")
	g.Expect(said).To(Equal("Error: the newest revision is r3 now, not r2, which you looked at; check r3 first; `hub rollout status deployment/web -n default` shows its progress\n"))
	g.Expect(spec().Approvals).To(BeEmpty(), "what is refused changes nothing")
	out, _ = l.run(ExitDone, "rollout", "approve", web, "--revision", "3")
	g.Expect(out).To(Equal("deployment/web: wave canary of r3 is approved\n"))
	g.Expect(spec().Approvals).To(Equal([]fairleadv1alpha1.WaveApproval{{Revision: 3, Wave: "canary"}}))
	out, _ = l.run(ExitDone, "rollout", "approve", web)
	g.Expect(out).To(Equal("deployment/web: wave canary of r3 is approved (as before)\n"))
}

// policy writes the policy that selects the application to a file.
func (l *lookout) policy(g *WithT) string {
	file := filepath.Join(l.t.TempDir(), "policy.yaml")
	g.Expect(os.WriteFile(file, []byte(`apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
`), 0o600)).To(Succeed())
	return file
}

// mark annotates the Works of clusters with revisions.
func (l *lookout) mark(g *WithT, revisions map[string]string) {
	for name, id := range revisions {
		var works workv1alpha1.WorkList
		g.Expect(l.c.List(l.t.Context(), &works, client.InNamespace("karmada-es-"+name))).To(Succeed())
		g.Expect(works.Items).To(HaveLen(1))
		work := &works.Items[0]
		metav1.SetMetaDataAnnotation(&work.ObjectMeta, contract.RevisionAnnotation, id)
		metav1.SetMetaDataAnnotation(&work.ObjectMeta, contract.RevisionSinceAnnotation, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
		g.Expect(l.c.Update(l.t.Context(), work)).To(Succeed())
	}
}

// elsewhere is a rule of a ClusterOverridePolicy that matches none of the clusters.
func elsewhere() override.Rule {
	return override.Rule{
		Policy: "proxy", TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-9"}},
		Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
			{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"token": "hunter2"}},
		}},
	}
}

// shown has a user with the role edit look at r3, which contains such a rule, and at r2, which does not.
func (l *lookout) shown(g *WithT) {
	l.t.Helper()
	out, _ := l.run(ExitDone, "rollout", "history", "deployment/web", "--revision", "3")
	g.Expect(out).To(And(HavePrefix("number: 3\nobjects:\n"), ContainSubstring("hunter2")))
	l.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "editor"}},
	})
	editor := l.as("editor")
	g.Eventually(func() int { // RBAC takes a moment to take effect
		e := execution{env: editor.env}
		return e.run(l.t.Context(), "rollout", "history", "deployment/web", "--revision", "2")
	}, waitTimeout, poll).Should(Equal(ExitDone))
	out, said := editor.run(ExitDone, "rollout", "history", "deployment/web", "--revision", "3")
	g.Expect(out).To(And(ContainSubstring("number: 3\n"), ContainSubstring("note: It has rules of"), ContainSubstring("image: web:3"), Not(ContainSubstring("hunter2"))))
	g.Expect(said).To(BeEmpty())
	out, said = editor.run(ExitDone, "rollout", "history", "deployment/web", "--between", "2,3")
	g.Expect(out).To(And(ContainSubstring("image: web:2\n+"), Not(ContainSubstring("note")), Not(ContainSubstring("hunter2"))))
	g.Expect(said).To(HavePrefix("At least one of them is not shown as a whole. It has rules of ClusterOverridePolicies, which you may not read"))
	out, _ = editor.run(ExitDone, "rollout", "history", "deployment/web", "--between", "3,3")
	g.Expect(out).To(Equal("# In what you may read r3 and r3 have the same content\n"))
	_, said = editor.run(ExitDone, "rollout", "history", "deployment/web", "--between", "2,2")
	g.Expect(said).To(BeEmpty())
}

// kept stores the content of two revisions, and checks what is shown of them.
func (l *lookout) kept(g *WithT, ro *fairleadv1alpha1.StagedRollout) {
	before := ro.DeepCopy()
	for i, image := range map[int]string{1: "web:2", 2: "web:3"} {
		source := revision.Source{Template: builder.MakeDeployment("default", "web").Image(image).Obj()}
		if i == 2 {
			source.Rules = []override.Rule{elsewhere()}
		}
		main, err := revision.MakePart(source)
		g.Expect(err).NotTo(HaveOccurred())
		kept := &revision.Kept{Content: revision.Content{Main: main}}
		ro.Status.Revisions[i].Hash, err = kept.Hash()
		g.Expect(err).NotTo(HaveOccurred())
		secrets, err := revision.SecretsOf(ro, int64(i+1), kept)
		g.Expect(err).NotTo(HaveOccurred())
		for _, secret := range secrets {
			l.create(secret)
			defer func() { g.Expect(l.c.Delete(l.t.Context(), secret)).To(Succeed()) }()
		}
	}
	g.Expect(l.c.Status().Update(l.t.Context(), ro)).To(Succeed())
	out, _ := l.run(ExitDone, "rollout", "history", "deployment/web", "--revision", "2")
	g.Expect(out).To(And(HavePrefix("number: 2\nobjects:\n"), ContainSubstring("image: web:2")))
	out, _ = l.run(ExitDone, "rollout", "history", "deployment/web", "--between", "2,3")
	g.Expect(out).To(And(HavePrefix("--- r2\n+++ r3\n"), ContainSubstring("image: web:2\n+"), Not(ContainSubstring("number"))))
	l.shown(g)
	_, said := l.run(ExitFailed, "rollout", "history", "deployment/web", "--revision", "1")
	g.Expect(said).To(ContainSubstring("the content of r1 is lost, since there is no Secret default/rollout-web-deployment-r1"))
	_, said = l.run(ExitFailed, "rollout", "history", "deployment/web", "--between", "2,9")
	g.Expect(said).To(ContainSubstring("r9 is not kept; the kept revisions are 1, 2, 3"))
	// Each cluster is compared with its own revision, and not with the template on the hub.
	out, said = l.run(ExitNo, "diff", "deployment/web")
	g.Expect(out).To(MatchRegexp(`(?s)--- edge-1 sent\n\+\+\+ edge-1 rendered from r2\n.*image: web:2\n.*--- edge-3 sent\n\+\+\+ edge-3 rendered from r3\n.*image: web:3\n`))
	g.Expect(out).To(ContainSubstring("# edge-2: it cannot be rendered, and the last Work stays: the content of r1 is lost"))
	g.Expect(said).To(ContainSubstring("3 of 3 clusters were sent something other"))
	out, _ = l.run(ExitDone, "explain", "deployment/web", "--what-if", "-f", l.policy(g))
	g.Expect(out).To(ContainSubstring("Its changes go out in waves: it would have r1 in edge-2; r2 in edge-1; r3 in edge-3."))
	ro.Status = before.Status
	g.Expect(l.c.Status().Update(l.t.Context(), ro)).To(Succeed())
}
