package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// lostTaint is on clusters that are not Ready. The policy of the bench does not tolerate it.
const lostTaint = "bench.example.com/lost"

// region loses a quarter of the clusters, and has them back when all their applications run elsewhere.
func (s *system) region(ctx context.Context, at size, out *sheet) error {
	taint := lost()
	if err := s.hubClient.Create(ctx, taint); err != nil {
		return fmt.Errorf("making a ClusterTaintPolicy: %w", err)
	}
	var names []string
	for i := 0; i < at.agents; i += regions {
		names = append(names, clusterName(i))
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	moves, err := s.watchMoves(watching, sets.New(names...))
	if err != nil {
		return err
	}
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	affected := moves.begin()
	if affected == 0 {
		return fmt.Errorf("none of %d applications runs in the %d clusters that are to be lost: there are too few", at.bindings, len(names))
	}
	if err := s.lose(ctx, names, affected, moves, out); err != nil {
		return err
	}
	if err := s.haveBack(ctx, names, affected, moves, out); err != nil {
		return err
	}
	if err := s.hubClient.Delete(ctx, taint); err != nil {
		return fmt.Errorf("deleting a ClusterTaintPolicy: %w", err)
	}
	_, err = s.awaitQuiet(ctx)
	return err
}

// lose silences clusters, and returns when all their applications run elsewhere.
func (s *system) lose(ctx context.Context, names []string, affected int, moves *moves, out *sheet) error {
	began := time.Now()
	var unknown time.Duration
	u, err := s.untilQuiet(ctx, func() error {
		s.agents.Silence(names...)
		err := s.awaitReady(ctx, names, metav1.ConditionUnknown)
		if err != nil {
			return err
		}
		unknown = time.Since(began)
		return moves.await(ctx, "run elsewhere", func(p place) bool { return p.runs })
	})
	if err != nil {
		return err
	}
	first, last := moves.leftAt()
	out.tell("lost: clusters", float64(len(names)), "")
	out.tell("lost: applications that move", float64(affected), "")
	out.tell("lost: until all of its clusters are Unknown", unknown.Seconds(), "s")
	out.tell("lost: until the first application has left", first.Sub(began).Seconds(), "s")
	out.tell("lost: until the last has", last.Sub(began).Seconds(), "s")
	out.tell("lost: until all of them run elsewhere", moves.since(began).Seconds(), "s")
	out.tell("lost: until it is quiet", u.seconds, "s")
	out.account("lost: ", affectedOnes, u, float64(affected))
	return nil
}

// haveBack lets lost clusters return, and waits until the applications that moved are gone from them.
func (s *system) haveBack(ctx context.Context, names []string, affected int, moves *moves, out *sheet) error {
	began := time.Now()
	var ready time.Duration
	u, err := s.untilQuiet(ctx, func() error {
		if err := s.agents.Return(names...); err != nil {
			return err
		}
		if err := s.awaitReady(ctx, names, metav1.ConditionTrue); err != nil {
			return err
		}
		ready = time.Since(began)
		return moves.await(ctx, "have left nothing behind", func(p place) bool { return p.runs && !p.remains })
	})
	if err != nil {
		return err
	}
	out.tell("back: until all of its clusters are Ready", ready.Seconds(), "s")
	out.tell("back: until the old copies are given up", moves.since(began).Seconds(), "s")
	out.tell("back: until it is quiet", u.seconds, "s")
	out.account("back: ", affectedOnes, u, float64(affected))
	return nil
}

// affectedOnes is the item that usage is counted for.
const affectedOnes = "application that moves"

// lost returns a policy that taints clusters while they are not Ready.
func lost() *policyv1alpha1.ClusterTaintPolicy {
	ready := func(operator policyv1alpha1.MatchConditionOperator) []policyv1alpha1.MatchCondition {
		return []policyv1alpha1.MatchCondition{{
			ConditionType: clusterv1alpha1.ClusterReady, Operator: operator, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue},
		}}
	}
	return &policyv1alpha1.ClusterTaintPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "lost"},
		Spec: policyv1alpha1.ClusterTaintPolicySpec{
			AddOnConditions:    ready(policyv1alpha1.MatchConditionNotIn),
			RemoveOnConditions: ready(policyv1alpha1.MatchConditionIn),
			Taints:             []policyv1alpha1.ClusterTaint{{Key: lostTaint, Effect: corev1.TaintEffectNoExecute}},
		},
	}
}
