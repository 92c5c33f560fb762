package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// floorNamespace has the objects of the floor, on the bare API and in members.
const floorNamespace = "bench-floor"

// measureFloor performs the writes that every system must make: for each template the template itself and its binding,
// and for each member a Work, the object in the member and the status of the Work.
func (b *bench) measureFloor(ctx context.Context, w workload) (*Floor, error) {
	if err := pause(ctx, settle); err != nil {
		return nil, err
	}
	progress("%s: the floor, %d times the bare writes by %d writers", w.Name, b.n, b.writers)
	all := append([]api{b.bare}, b.members...)
	for _, a := range all {
		if err := a.ensureNamespace(ctx, floorNamespace); err != nil {
			return nil, err
		}
	}
	meter, err := b.startMeter(ctx, b.bare, w.Name+"-floor")
	if err != nil {
		return nil, err
	}
	began := time.Now()
	err = b.write(ctx, func(ctx context.Context, i int) error {
		return b.bareWrites(ctx, w, fmt.Sprintf("floor-%05d", i))
	})
	if err != nil {
		return nil, fmt.Errorf("writing the floor: %w", err)
	}
	out := &Floor{TotalSeconds: time.Since(began).Seconds()}
	if out.Usage, err = meter.stop(ctx); err != nil {
		return nil, err
	}
	progress("%s: the floor is %.1f s", w.Name, out.TotalSeconds)
	return out, nil
}

func (b *bench) removeFloor(ctx context.Context, w workload) error {
	for _, obj := range []client.Object{w.object("", ""), &workv1alpha2.ResourceBinding{}, &workv1alpha1.Work{}} {
		if err := b.deleteAll(ctx, b.bare, obj, floorNamespace); err != nil {
			return err
		}
	}
	for _, member := range b.members {
		if err := b.deleteAll(ctx, member, w.object("", ""), floorNamespace); err != nil {
			return err
		}
	}
	return nil
}

// bareWrites makes the writes for one template, in order of their dependencies.
func (b *bench) bareWrites(ctx context.Context, w workload, name string) error {
	template := w.object(floorNamespace, name)
	manifest, err := json.Marshal(template)
	if err != nil {
		return err
	}
	if err := b.bare.client.Create(ctx, template); err != nil {
		return err
	}
	binding := b.bareBinding(w, template)
	if err := b.bare.client.Create(ctx, binding); err != nil {
		return err
	}
	for _, member := range b.members {
		work := &workv1alpha1.Work{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: floorNamespace, Name: contract.WorkName(w.kind, floorNamespace, name) + "-" + member.name,
				Labels: map[string]string{"app": name},
			},
			Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{
				Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}},
			}},
		}
		if err := b.bare.client.Create(ctx, work); err != nil {
			return err
		}
		if err := member.client.Create(ctx, w.object(floorNamespace, name)); err != nil {
			return err
		}
		if err := b.bare.client.Status().Patch(ctx, work, client.RawPatch(patchType, bareStatus(w, name))); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) bareBinding(w workload, template client.Object) *workv1alpha2.ResourceBinding {
	binding := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: floorNamespace, Name: w.bindingName(template.GetName()), Labels: template.GetLabels(),
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{
				APIVersion: w.apiVersion, Kind: w.kind, Namespace: floorNamespace, Name: template.GetName(),
				UID: template.GetUID(), ResourceVersion: template.GetResourceVersion(),
			},
			Replicas:  w.replicas,
			Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: b.clusterNames()}},
		},
	}
	for _, name := range b.clusterNames() {
		binding.Spec.Clusters = append(binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: w.replicas})
	}
	return binding
}

const patchType = "application/merge-patch+json"

// bareStatus returns a status as reported by an agent.
func bareStatus(w workload, name string) []byte {
	now := time.Now().UTC().Format(time.RFC3339)
	status := map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{
			"type": workv1alpha1.WorkApplied, "status": "True", "reason": workv1alpha1.ReasonAppliedSuccessful,
			"message": "Manifest has been successfully applied", "lastTransitionTime": now,
		}},
		"manifestStatuses": []any{map[string]any{
			"health": workv1alpha1.Healthy,
			"identifier": map[string]any{
				"ordinal": 0, "version": "v1", "kind": w.kind, "resource": "resources", "namespace": floorNamespace, "name": name,
			},
			"status": map[string]any{"replicas": w.replicas, "readyReplicas": w.replicas},
		}},
	}}
	data, err := json.Marshal(status)
	if err != nil {
		panic(err) // plain values
	}
	return data
}
