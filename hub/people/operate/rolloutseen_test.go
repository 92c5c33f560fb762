package operate_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/operate"
)

// verbs are the operations of people on the newest revision of a rollout.
func verbs() map[string]func(context.Context, operate.Rollout) error {
	return map[string]func(context.Context, operate.Rollout) error{
		"undo": func(ctx context.Context, r operate.Rollout) error {
			_, err := r.Undo(ctx, 0, true)
			return err
		},
		"undo to one": func(ctx context.Context, r operate.Rollout) error {
			_, err := r.Undo(ctx, 3, false)
			return err
		},
		"abort": func(ctx context.Context, r operate.Rollout) error {
			_, err := r.Abort(ctx)
			return err
		},
		"approve": func(ctx context.Context, r operate.Rollout) error {
			_, _, err := r.Approve(ctx, "")
			return err
		},
		"approve a wave": func(ctx context.Context, r operate.Rollout) error {
			_, _, err := r.Approve(ctx, "rest")
			return err
		},
		"skip": func(ctx context.Context, r operate.Rollout) error {
			_, err := r.Skip(ctx, []string{"a"}, []string{"a"})
			return err
		},
		"retry": func(ctx context.Context, r operate.Rollout) error {
			_, err := r.Retry(ctx, []string{"a"}, time.Unix(0, 0))
			return err
		},
	}
}

// gated is a rollout from r4 to r5 in which cluster a failed, and which waits for approval of its wave canary.
func gated() *fairleadv1alpha1.StagedRollout {
	ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	ro.Status = fairleadv1alpha1.StagedRolloutStatus{
		Revision: 5, Stable: 4, Phase: fairleadv1alpha1.RolloutWaiting, Wave: "canary",
		Waves:      []fairleadv1alpha1.WaveStatus{{Name: "canary"}, {Name: "rest"}},
		Revisions:  []fairleadv1alpha1.RevisionStatus{{Number: 3, Hash: "c"}, {Number: 4, Hash: "d"}, {Number: 5, Hash: "e"}},
		Clusters:   []fairleadv1alpha1.ClusterGroup{{State: fairleadv1alpha1.ClusterFailed, Revision: 5, Names: []string{"a"}}},
		Conditions: []metav1.Condition{{Type: fairleadv1alpha1.RolloutConditionProgressing, Reason: fairleadv1alpha1.ReasonRolloutNeedsApproval}},
	}
	return ro
}

// follow appends a newer revision, at the same gate as the previous one.
func follow(hash, cause string, contentOf int64) func(*fairleadv1alpha1.StagedRolloutStatus) {
	return func(s *fairleadv1alpha1.StagedRolloutStatus) {
		s.Revision++
		s.Revisions = append(s.Revisions, fairleadv1alpha1.RevisionStatus{Number: s.Revision, Hash: hash, Cause: cause, ContentOf: contentOf})
	}
}

// world steers a rollout, and reads the spec that was written.
type world struct {
	steer operate.Rollout
	spec  func(Gomega) fairleadv1alpha1.StagedRolloutSpec
}

// overtaken returns the rollout of gated, whose status the hub changes between the first read of a command and its
// write.
func overtaken(t *testing.T, meanwhile func(*fairleadv1alpha1.StagedRolloutStatus)) world {
	t.Helper()
	scheme, err := kube.NewScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	key, written := client.ObjectKeyFromObject(gated()), false
	hub := fake.NewClientBuilder().WithScheme(scheme).WithObjects(gated()).WithStatusSubresource(gated()).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if !written {
				written = true
				ro := &fairleadv1alpha1.StagedRollout{}
				if err := c.Get(ctx, key, ro); err != nil {
					return err
				}
				meanwhile(&ro.Status)
				if err := c.Status().Update(ctx, ro); err != nil {
					return err
				}
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	return world{
		steer: operate.Rollout{Hub: hub, FieldManager: contract.FieldManagerCLI, ObjectKey: key},
		spec: func(g Gomega) fairleadv1alpha1.StagedRolloutSpec {
			ro := &fairleadv1alpha1.StagedRollout{}
			g.Expect(hub.Get(t.Context(), key, ro)).To(Succeed())
			return ro.Spec
		},
	}
}

func TestARevisionThatCameMeanwhileIsNotSteered(t *testing.T) {
	t.Parallel()
	for verb, do := range verbs() {
		for came, meanwhile := range map[string]func(*fairleadv1alpha1.StagedRolloutStatus){
			"an edit":    follow("f", fairleadv1alpha1.CauseEdited, 0),
			"a rollback": follow("d", fairleadv1alpha1.CauseRolledBack, 4),
		} {
			t.Run(verb+" while there is "+came, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				w := overtaken(t, meanwhile)
				why, refused := operate.RefusalOf(do(t.Context(), w.steer))
				g.Expect(refused).To(BeTrue())
				g.Expect(why).To(Equal("the newest revision is r6 now, not r5, which you looked at; check r6 first"))
				g.Expect(w.spec(g)).To(BeZero())
			})
		}
		t.Run(verb+" what is not the newest", func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := overtaken(t, func(*fairleadv1alpha1.StagedRolloutStatus) {})
			w.steer.Seen = 4
			why, refused := operate.RefusalOf(do(t.Context(), w.steer))
			g.Expect(refused).To(BeTrue())
			g.Expect(why).To(Equal("the newest revision is r5 now, not r4, which you looked at; check r5 first"))
			g.Expect(w.spec(g)).To(BeZero())
		})
		t.Run(verb+" while its status is written", func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := overtaken(t, func(s *fairleadv1alpha1.StagedRolloutStatus) { s.ObservedGeneration++ })
			w.steer.Seen = 5
			g.Expect(do(t.Context(), w.steer)).To(Succeed())
			g.Expect(w.spec(g)).NotTo(BeZero())
		})
	}
	t.Run("pause", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		w := overtaken(t, follow("f", fairleadv1alpha1.CauseEdited, 0))
		w.steer.Seen = 5
		g.Expect(w.steer.Pause(t.Context(), true)).To(BeTrue(), "whatever is the newest is to be sent nowhere else")
		g.Expect(w.spec(g).Paused).To(BeTrue())
	})
}

func TestTheNextWaveIsNotApprovedInstead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := overtaken(t, func(s *fairleadv1alpha1.StagedRolloutStatus) { s.Wave = "rest" })
	approved, _, err := w.steer.Approve(t.Context(), "")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(approved).To(Equal(fairleadv1alpha1.WaveApproval{Revision: 5, Wave: "canary"}))
	g.Expect(w.spec(g).Approvals).To(Equal([]fairleadv1alpha1.WaveApproval{approved}))
}
