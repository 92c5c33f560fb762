package setup

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// confirmation asks the hub whether the agent may still do what is its own to do: read its
// lease, which is the smallest thing that it has there.
func confirmation(hub client.Reader, cluster string) func(context.Context) error {
	return func(ctx context.Context) error {
		return hub.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: cluster}, &coordinationv1.Lease{})
	}
}

// Works returns the Works that the hub has for the cluster now.
func Works(ctx context.Context, o Options) ([]*workv1alpha1.Work, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	asking := tuned(o.Hub)
	asking.Timeout = answerPatience
	hub, err := client.New(asking, client.Options{Scheme: scheme, Mapper: hubMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	namespace, waiting := askNamespace(ctx, hub, o.Cluster)
	if waiting != "" {
		return nil, fmt.Errorf("asking the hub for the Works of cluster %q: %s", o.Cluster, waiting)
	}
	var list workv1alpha1.WorkList
	if err := hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("asking the hub for the Works of cluster %q: %w", o.Cluster, err)
	}
	out := make([]*workv1alpha1.Work, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Sweep ends the work of an agent that will not run any more: what it applied stays without
// its marks, or is removed. It goes by the Works that it is given and by those that the
// journal has, which is empty afterwards. It returns how many objects there were.
func Sweep(ctx context.Context, o Options, works []*workv1alpha1.Work, stay bool) (int, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return 0, err
	}
	m, err := connect(o.Member, o.Namespaces, scheme, o.Clock)
	if err != nil {
		return 0, err
	}
	known := remember(ctx, o)
	if known.journal != nil && known.namespace == "" && len(works) > 0 {
		known.journal.Begin(works[0].Namespace)
	}
	given := map[client.ObjectKey]bool{}
	for _, work := range works {
		given[client.ObjectKeyFromObject(work)] = true
		if known.journal != nil { // should this be stopped half-way
			known.journal.Put(work)
		}
	}
	for _, kept := range known.works {
		if !given[client.ObjectKeyFromObject(kept.Work)] {
			works = append(works, kept.Work)
		}
	}
	count, err := execution.Sweep(ctx, m.client, o.Clock, works, stay)
	if err == nil && known.journal != nil {
		err = known.journal.Erase()
	}
	return count, err
}
