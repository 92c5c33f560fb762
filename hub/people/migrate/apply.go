package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/migrate/conversion"
)

// How often and how long to wait until a newly defined kind is served.
const (
	servedPoll    = 200 * time.Millisecond
	servedTimeout = time.Minute
)

// Outcome is the result for one object.
type Outcome string

// The outcomes.
const (
	// Created means that it did not exist before.
	Created Outcome = "created"
	// Present means that an equal object existed; it was not written.
	Present Outcome = "already there, and equal"
	// Refused means that a different object exists, or that something else prevents creating it.
	Refused Outcome = "refused"
)

// Step is the outcome for one object.
type Step struct {
	// Object is its kind and name.
	Object  string
	Outcome Outcome
	// Why is the reason if it was refused.
	Why string
	// Done is how many of Total objects exist on the hub.
	Done, Total int
}

// Apply creates objects on a hub, namespaces and definitions first and the others in their order, and reports the
// result for each. It never changes existing objects: an equal one is skipped, so Apply can be repeated after an
// interruption. If an existing object differs, it is refused, and then nothing at all is created. Apply returns whether
// all objects exist. Equality is determined by a dry run of the API server, which knows its defaults. Of a binding only
// the placement is compared, since the hub owns the rest.
//
// A binding that names a cluster that the hub does not have is refused, since the hub would reschedule the object. If
// there are no bindings, so is a policy that divides replicas among clusters of which one is missing or not Ready,
// whether it is named or matched: the others would get its share while it keeps running what it has.
func Apply(ctx context.Context, hubClient client.Client, objects []*unstructured.Unstructured, report func(Step)) (bool, error) {
	a := applier{hubClient: hubClient, defined: defined(objects), placed: slices.ContainsFunc(objects, isBinding)}
	var clusters clusterv1alpha1.ClusterList
	if err := hubClient.List(ctx, &clusters); err != nil {
		return false, fmt.Errorf("reading which clusters have joined: %w", err)
	}
	for i := range clusters.Items {
		c := &clusters.Items[i]
		a.clusters = append(a.clusters, c.Name)
		if unready(c) {
			a.unready = append(a.unready, c)
		}
	}
	objects = ordered(objects)
	steps := make([]Step, len(objects))
	refused := false
	for n, obj := range objects {
		var err error
		if steps[n], err = a.look(ctx, obj); err != nil {
			return false, err
		}
		if steps[n].Outcome == Refused {
			refused = true
			report(steps[n])
		}
	}
	if refused {
		return false, nil
	}
	for n, obj := range objects {
		step := &steps[n]
		if step.Outcome == "" {
			created, err := a.create(ctx, obj)
			if err != nil {
				return false, err
			}
			*step = created
		}
		step.Done, step.Total = n+1, len(objects)
		report(*step)
		if step.Outcome == Refused {
			return false, nil
		}
	}
	return true, nil
}

// applier applies objects to a hub.
type applier struct {
	hubClient client.Client
	// defined are the kinds that are defined by the objects themselves, and clusters the clusters of the hub.
	defined  map[schema.GroupKind]bool
	clusters []string
	// unready are the clusters that the scheduler would give no replicas now.
	unready []*clusterv1alpha1.Cluster
	// placed says that the objects include bindings, which fix the placement.
	placed bool
}

// look says whether an object exists, and is equal. Without an outcome it does not exist.
func (a *applier) look(ctx context.Context, obj *unstructured.Unstructured) (Step, error) {
	step := Step{Object: conversion.NameOf(obj)}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	err := a.hubClient.Get(ctx, client.ObjectKeyFromObject(obj), live)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err) && a.defined[obj.GroupVersionKind().GroupKind()]:
		if step.Why = cmp.Or(a.absent(obj), a.misdivided(obj)); step.Why != "" {
			step.Outcome = Refused
		}
		return step, nil
	case err != nil:
		return step, fmt.Errorf("reading %s on the hub: %w", step.Object, err)
	case live.GetDeletionTimestamp() != nil:
		step.Outcome, step.Why = Refused, "metadata.deletionTimestamp: the object on the hub is being deleted; wait until it is gone"
		return step, nil
	}
	fields, err := a.compare(ctx, obj, live)
	if err != nil {
		return step, fmt.Errorf("comparing %s with the one on the hub: %w", step.Object, err)
	}
	step.Outcome = Present
	if len(fields) > 0 {
		step.Outcome, step.Why = Refused, "the hub has another version of it, which differs in "+strings.Join(fields, ", ")
	}
	return step, nil
}

// absent returns the clusters that a binding names and the hub does not have; empty if it has all.
func (a *applier) absent(obj *unstructured.Unstructured) string {
	if !isBinding(obj) {
		return ""
	}
	var out []string
	list, _, _ := unstructured.NestedSlice(obj.Object, "spec", "clusters")
	for _, element := range list {
		cluster, _ := element.(map[string]any)
		if name, _ := cluster["name"].(string); !slices.Contains(a.clusters, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.clusters: %s did not join yet; without it, the hub would place the object from scratch", strings.Join(out, ", "))
}

// compare returns the fields in which a live object differs from the wanted one, by a dry run of an update.
func (a *applier) compare(ctx context.Context, obj, live *unstructured.Unstructured) ([]string, error) {
	if isBinding(obj) {
		return differingPlacement(obj, live), nil
	}
	var invalid error
	for _, written := range []func(wanted, live *unstructured.Unstructured) *unstructured.Unstructured{replaced, merged} {
		next, err := a.dryRun(ctx, obj, live, written)
		switch {
		case err == nil:
			return contentDiffers(next, live), nil
		case !apierrors.IsInvalid(err):
			return nil, err
		}
		invalid = err
	}
	return []string{invalid.Error()}, nil // the error names the fields
}

// dryRun returns the result of an update as a dry run. If the hub changes the live object at the same time, the live
// object is read again.
func (a *applier) dryRun(
	ctx context.Context, obj, live *unstructured.Unstructured, written func(wanted, live *unstructured.Unstructured) *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	const attempts = 10
	for n := 1; ; n++ {
		next := written(obj, live)
		err := a.hubClient.Update(ctx, next, client.DryRunAll, client.FieldOwner(contract.FieldManagerCLI))
		if n == attempts || !apierrors.IsConflict(err) {
			return next, err
		}
		if err := a.hubClient.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return nil, err
		}
	}
}

// create creates an object. If somebody else has created it, or a response was lost, the existing object is compared.
func (a *applier) create(ctx context.Context, obj *unstructured.Unstructured) (Step, error) {
	name := conversion.NameOf(obj)
	var err error
	once := func(ctx context.Context) (bool, error) {
		next := obj.DeepCopy()
		delete(next.Object, "status") // the hub sets the status
		err = a.hubClient.Create(ctx, next, client.FieldOwner(contract.FieldManagerCLI))
		return !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err), nil
	}
	if a.defined[obj.GroupVersionKind().GroupKind()] {
		if over := wait.PollUntilContextTimeout(ctx, servedPoll, servedTimeout, true, once); err == nil {
			err = over
		}
	} else {
		_, _ = once(ctx)
	}
	switch {
	case err == nil:
		return Step{Object: name, Outcome: Created}, nil
	case apierrors.IsAlreadyExists(err):
		step, lookErr := a.look(ctx, obj)
		if lookErr == nil && step.Outcome == "" {
			lookErr = fmt.Errorf("creating %s on the hub: %w", name, err) // it was created and deleted in between
		}
		return step, lookErr
	}
	return Step{}, fmt.Errorf("creating %s on the hub: %w", name, err)
}

// String returns the step as a line.
func (s Step) String() string {
	if s.Why == "" {
		return s.Object + ": " + string(s.Outcome)
	}
	return s.Object + ": " + string(s.Outcome) + ": " + s.Why
}
