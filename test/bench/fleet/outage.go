package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/fleet"
)

// region loses a quarter of the clusters, and has them back.
func (s *system) region(ctx context.Context, at size, tell put) error {
	taint := &policyv1alpha1.ClusterTaintPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "lost"},
		Spec: policyv1alpha1.ClusterTaintPolicySpec{
			AddOnConditions: []policyv1alpha1.MatchCondition{{
				ConditionType: clusterv1alpha1.ClusterReady, Operator: policyv1alpha1.MatchConditionNotIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue},
			}},
			RemoveOnConditions: []policyv1alpha1.MatchCondition{{
				ConditionType: clusterv1alpha1.ClusterReady, Operator: policyv1alpha1.MatchConditionIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue},
			}},
			Taints: []policyv1alpha1.ClusterTaint{{Key: "bench.example.com/lost", Effect: corev1.TaintEffectNoExecute}},
		},
	}
	if err := client.IgnoreAlreadyExists(s.hubClient.Create(ctx, taint)); err != nil {
		return fmt.Errorf("making a ClusterTaintPolicy: %w", err)
	}
	var lost []string
	for i := 0; i < at.agents; i += regions {
		lost = append(lost, clusterName(i))
	}
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	for _, turn := range []struct {
		what string
		do   func() error
		want metav1.ConditionStatus
	}{
		{"lost", func() error { s.agents.Silence(lost...); return nil }, metav1.ConditionUnknown},
		{"back", func() error { return s.agents.Return(lost...) }, metav1.ConditionTrue},
	} {
		before, err := s.now(ctx)
		if err != nil {
			return err
		}
		if err := turn.do(); err != nil {
			return err
		}
		if err := s.awaitReady(ctx, lost, turn.want); err != nil {
			return err
		}
		seen := time.Now()
		after, err := s.awaitQuiet(ctx)
		if err != nil {
			return err
		}
		u := since(before, after)
		tell(turn.what+": until all of its clusters are "+string(turn.want), seen.Sub(before.at).Seconds(), "s")
		tell(turn.what+": until it is quiet", u.seconds, "s")
		tell(turn.what+": hub CPU", u.cpu[hubProcess], "s")
		tell(turn.what+": API server CPU", u.cpu[apiProcess], "s")
		tell(turn.what+": writes for each of its clusters", u.writes()/float64(len(lost)), "")
	}
	return nil
}

// awaitReady returns when clusters have a condition Ready of some status, all at the same time. They are watched: to list thousands of them
// again and again would take more of the machine than what is measured.
func (s *system) awaitReady(ctx context.Context, names []string, want metav1.ConditionStatus) error {
	missing := sets.New(names...)
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for ctx.Err() == nil {
		w, err := s.hubClient.Watch(ctx, &clusterv1alpha1.ClusterList{}) // from no version on, so that what is there is shown first
		if err != nil {
			return fmt.Errorf("watching clusters: %w", err)
		}
		if done := seeReady(w, sets.New(names...), missing, want); done {
			return nil
		}
	}
	return fmt.Errorf("waiting for Ready=%s of %d clusters, of which %d are not: %w", want, len(names), missing.Len(), ctx.Err())
}

// seeReady takes out of missing which of the names are Ready as they are to be, and back in which are not any more, until there is none left or
// the watch ends.
func seeReady(w watch.Interface, names, missing sets.Set[string], want metav1.ConditionStatus) (done bool) {
	defer w.Stop()
	for event := range w.ResultChan() {
		cluster, ok := event.Object.(*clusterv1alpha1.Cluster)
		if !ok || !names.Has(cluster.Name) {
			continue
		}
		missing.Insert(cluster.Name)
		if event.Type != watch.Deleted && meta.IsStatusConditionPresentAndEqual(cluster.Status.Conditions, clusterv1alpha1.ClusterReady, want) {
			missing.Delete(cluster.Name)
		}
		if missing.Len() == 0 {
			return true
		}
	}
	return false
}

// starts counts how often the hub has said that its stages run.
func (s *system) starts() (int, error) {
	said, err := os.ReadFile(s.fleet.Log(fleet.HubName))
	if err != nil {
		return 0, fmt.Errorf("reading what the hub says: %w", err)
	}
	return bytes.Count(said, []byte("Hub is ready")), nil
}

// awaitStart returns when the hub has said once more that its stages run.
func (s *system) awaitStart(ctx context.Context, before int) error {
	for began := time.Now(); ; {
		now, err := s.starts()
		if err != nil || now > before {
			return err
		}
		if time.Since(began) > waitTimeout {
			return fmt.Errorf("the stages of the hub do not run after %s", waitTimeout)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// restart kills the hub with its API, and starts both.
func (s *system) restart(ctx context.Context, at size, tell put) error {
	starts, err := s.starts()
	if err != nil {
		return err
	}
	if err := s.fleet.Kill(ctx, fleet.HubName); err != nil {
		return err
	}
	if err := os.Remove(s.openFile()); err != nil {
		return fmt.Errorf("removing what the hub said that was killed: %w", err)
	}
	began, traffic := time.Now(), s.agents.Traffic()
	starting, sctx := errgroup.WithContext(ctx)
	starting.Go(func() error { return s.fleet.StartHub(sctx) })
	in, err := s.awaitOpen(sctx)
	if err != nil {
		return errors.Join(err, starting.Wait())
	}
	stop, err := s.profile(ctx, profileOf("restart", at))
	if err != nil {
		return errors.Join(err, starting.Wait())
	}
	defer stop()
	// The API answers long before the hub works: what is quiet until then says nothing.
	if err := s.awaitStart(sctx, starts); err != nil {
		return errors.Join(err, starting.Wait())
	}
	works := time.Now()
	if err := starting.Wait(); err != nil {
		return err
	}
	up := time.Now()
	if s.lines {
		if err := s.agents.AwaitLines(ctx); err != nil {
			return err
		}
	}
	var all []string
	for i := range at.agents {
		all = append(all, clusterName(i))
	}
	if err := s.awaitReady(ctx, all, metav1.ConditionTrue); err != nil {
		return err
	}
	ready := time.Now()
	steady, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	// All that they count began with them.
	u := since(moment{at: began, traffic: traffic}, steady)
	tell("until the hub works", works.Sub(began).Seconds(), "s")
	tell("until it takes a policy", up.Sub(began).Seconds(), "s")
	tell("until all agents are seen and Ready", ready.Sub(began).Seconds(), "s")
	tell("until it is steady", u.seconds, "s")
	tell("hub CPU", u.cpu[hubProcess], "s")
	tell("API server CPU", u.cpu[apiProcess], "s")
	tell("hub reads", u.hubRead/1e6, "MB")
	var writes, reads float64
	for key, n := range u.requests {
		switch {
		case !concernsApplications(key):
		case isWrite(key):
			writes += n
			tell(key, n, "")
		case key == "GET deployments":
			reads += n
		}
	}
	tell("writes about applications", writes, "")
	tell("templates read", reads, "")
	tell("agents turned away (429)", u.agentsWereTurnedOff, "")
	s.tellReturn(since(in, steady), u, at, tell)
	return nil
}

// openFile is written by a hub that lets agents in.
func (s *system) openFile() string {
	return filepath.Join(s.fleet.Dir, fleet.HubName, "run", "hub.open")
}

// awaitOpen returns when a hub that starts lets agents in, and what it and its API have used until then. They are asked at the address of
// their own: the other one is not open before.
func (s *system) awaitOpen(ctx context.Context) (moment, error) {
	for began := time.Now(); ; {
		_, err := os.Stat(s.openFile())
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return moment{}, fmt.Errorf("looking whether the hub lets agents in: %w", err)
		}
		if time.Since(began) > waitTimeout {
			return moment{}, fmt.Errorf("the hub lets nobody in after %s", waitTimeout)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return moment{}, err
		}
	}
	var err error
	if s.private, err = clientcmd.BuildConfigFromFlags("", filepath.Join(s.fleet.Dir, fleet.HubName, "kubeconfigs", "hub.kubeconfig")); err != nil {
		return moment{}, fmt.Errorf("reading how the hub reaches its API: %w", err)
	}
	return s.now(ctx)
}

// tellReturn tells what it took that agents came back: processor time since they were let in, and what each of them asked and opened since the
// hub was killed.
func (s *system) tellReturn(sinceIn, sinceKilled used, at size, tell put) {
	n := float64(at.agents)
	for _, name := range []string{hubProcess, apiProcess, dbProcess} {
		tell(name+" CPU for each agent once they are let in", 1000*sinceIn.cpu[name]/n, "ms")
	}
	tell("connections of each", sinceKilled.agentsConnected/n, "")
	for _, key := range slices.Sorted(maps.Keys(sinceKilled.agents)) {
		tell("each agent "+key, sinceKilled.agents[key]/n, "")
	}
	for _, key := range slices.Sorted(maps.Keys(sinceIn.requests)) {
		if each := sinceIn.requests[key] / n; each >= 0.1 {
			tell("API for each "+key, each, "")
		}
	}
}
