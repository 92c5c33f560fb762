package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// scene is something that happens, and is measured.
type scene struct {
	name string
	// always says that the others cannot do without it.
	always bool
	// apart says that it is only played if it is asked for: it takes long.
	apart bool
	// profiles says that it begins its profiles itself: those that begin with it would end with the processes.
	profiles bool
	play     func(*system, context.Context, size, put) error
}

// put tells a figure.
type put func(what string, value float64, unit string)

func scenes() []scene {
	return []scene{
		{name: "grow", always: true, play: (*system).growing},
		{name: "idle", play: (*system).idling},
		{name: "change", play: (*system).changing},
		{name: "roomier", play: (*system).roomier},
		{name: "wide", play: (*system).wide},
		{name: "restart", profiles: true, play: (*system).restart},
		{name: "region", play: (*system).region},
		{name: "policy", play: (*system).policy},
		{name: "rollout", apart: true, play: (*system).rollout},
	}
}

func sceneNames() []string {
	var out []string
	for _, s := range scenes() {
		if !s.always {
			out = append(out, s.name)
		}
	}
	return out
}

// usualScenes are those that are played if nothing is said.
func usualScenes() []string {
	return slices.DeleteFunc(sceneNames(), func(name string) bool {
		return slices.ContainsFunc(scenes(), func(s scene) bool { return s.name == name && s.apart })
	})
}

// play plays a scene, with profiles if they are wanted.
func (s *system) play(ctx context.Context, scene scene, at size, out *table) error {
	progress("%s: %d agents, %d bindings", scene.name, at.agents, at.bindings)
	stop := func() {}
	if !scene.profiles {
		var err error
		if stop, err = s.profile(ctx, profileOf(scene.name, at)); err != nil {
			return err
		}
	}
	err := scene.play(s, ctx, at, func(what string, value float64, unit string) { out.put(scene.name, what, value, unit) })
	stop()
	return err
}

// growing brings clusters and applications out.
func (s *system) growing(ctx context.Context, at size, tell put) error {
	more := float64(at.bindings - s.has.bindings)
	if _, err := s.awaitQuiet(ctx); err != nil {
		return err
	}
	before, err := s.now(ctx)
	if err != nil {
		return err
	}
	if err := s.grow(ctx, at); err != nil {
		return err
	}
	after, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	u := since(before, after)
	tell("time for each application that came", 1000*u.seconds/more, "ms")
	tell("hub CPU for each", 1000*u.cpu[hubProcess]/more, "ms")
	tell("API server CPU for each", 1000*u.cpu[apiProcess]/more, "ms")
	tell("writes for each", u.writes()/more, "")
	tell("conflicts for each", u.conflicts/more, "")
	return nil
}

// idling leaves everything alone.
func (s *system) idling(ctx context.Context, _ size, tell put) error {
	before, err := s.now(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, s.idle); err != nil {
		return err
	}
	after, err := s.now(ctx)
	if err != nil {
		return err
	}
	u := since(before, after)
	tell("hub and API server together", (u.cpu[hubProcess]+u.cpu[apiProcess])/u.seconds, "cores")
	for _, name := range []string{hubProcess, apiProcess, dbProcess} {
		tell(name+" CPU", u.cpu[name]/u.seconds, "cores")
		tell(name+" resident", float64(after.resident[name])/1e6, "MB")
	}
	live, err := s.hubHeap(ctx)
	if err != nil {
		return err
	}
	tell("hub's heap, of which nothing is garbage", live/1e6, "MB")
	tell("agents to hub", u.agentsSent/u.seconds/1000, "kB/s")
	tell("hub's API to agents", u.agentsReceived/u.seconds/1000, "kB/s")
	tell("hub reads", u.hubRead/u.seconds/1000, "kB/s")
	tell("hub writes", u.hubWritten/u.seconds/1000, "kB/s")
	tell("hub asks agents over lines", u.agentsAsked/u.seconds, "/s")
	requests(u, tell)
	return nil
}

// requests tells the most frequent requests, those of agents and those of the hub.
func requests(u used, tell put) {
	own := maps.Clone(u.requests)
	for key, n := range u.agents {
		own[key] -= n
	}
	for who, counts := range map[string]map[string]float64{"agents": u.agents, "hub": own} {
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			if rate := counts[key] / u.seconds; rate >= 0.2 {
				tell(who+" "+key, rate, "/s")
			}
		}
	}
}

// roomier gives one cluster more room, often enough that one search for garbage, which takes the hub a third of a second, does
// not count as what it costs.
func (s *system) roomier(ctx context.Context, at size, tell put) error {
	tries := min(at.agents, 20)
	idle, err := s.idleCPU(ctx)
	if err != nil {
		return err
	}
	before, err := s.now(ctx)
	if err != nil {
		return err
	}
	for i := range tries {
		s.agents.SetRoom(clusterName(i), corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(int64(1100+at.bindings%97+i), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("5Ti"),
			corev1.ResourcePods: resource.MustParse("11k"),
		})
		if err := pause(ctx, time.Second/2); err != nil {
			return err
		}
	}
	after, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	u := since(before, after)
	tell("hub CPU for one cluster", max(0, 1000*(u.cpu[hubProcess]-idle*u.seconds)/float64(tries)), "ms")
	tell("writes for one cluster", u.writes()/float64(tries), "")
	return nil
}

// idleCPU is which part of a core the hub takes when nothing happens.
func (s *system) idleCPU(ctx context.Context) (float64, error) {
	before, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, s.idle/3); err != nil {
		return 0, err
	}
	after, err := s.now(ctx)
	u := since(before, after)
	return u.cpu[hubProcess] / u.seconds, err
}

// policy edits the policy that selects everything, so that nothing moves.
func (s *system) policy(ctx context.Context, at size, tell put) error {
	before, err := s.now(ctx)
	if err != nil {
		return err
	}
	live := &policyv1alpha1.ClusterPropagationPolicy{}
	if err := s.hubClient.Get(ctx, client.ObjectKey{Name: policyName}, live); err != nil {
		return fmt.Errorf("reading the policy: %w", err)
	}
	edited := live.DeepCopy()
	edited.Spec.Priority = new(int32(at.bindings % math.MaxInt16))
	if live.Spec.PreserveResourcesOnDeletion == nil || !*live.Spec.PreserveResourcesOnDeletion {
		edited.Spec.PreserveResourcesOnDeletion = new(true)
	} else {
		edited.Spec.PreserveResourcesOnDeletion = new(false)
	}
	if err := s.hubClient.Patch(ctx, edited, client.MergeFrom(live)); err != nil {
		return fmt.Errorf("editing the policy: %w", err)
	}
	after, err := s.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	u, n := since(before, after), float64(at.bindings)
	tell("time until all is done", u.seconds, "s")
	tell("hub CPU for each application", 1000*u.cpu[hubProcess]/n, "ms")
	tell("API server CPU for each", 1000*u.cpu[apiProcess]/n, "ms")
	tell("writes for each", u.writes()/n, "")
	tell("conflicts for each", u.conflicts/n, "")
	return nil
}
