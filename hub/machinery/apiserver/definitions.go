package apiserver

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/manifests"
)

// crds applies all CRDs before it waits for any, so that they become established in parallel.
func (i *installer) crds(ctx context.Context) error {
	objects, err := manifests.CRDs()
	if err != nil {
		return err
	}
	if err := i.applyAll(ctx, objects); err != nil {
		return err
	}
	return i.awaitKinds(ctx)
}

// awaitServed waits until a CRD is established and each of its versions can be listed, which comes a moment later.
func (i *installer) awaitServed(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	key := client.ObjectKeyFromObject(crd)
	last := errors.New("it is not established")
	err := wait.PollUntilContextCancel(ctx, installPoll, true, func(ctx context.Context) (bool, error) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if err := i.hubClient.Get(ctx, key, live); err != nil {
			last = err
			return false, permanentError(err)
		}
		for _, c := range live.Status.Conditions {
			switch {
			case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
				return false, fmt.Errorf("its names are taken by another definition: %s", c.Message)
			case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
				last = i.served(ctx, live)
				return last == nil, permanentError(last)
			}
		}
		return false, nil
	})
	if ctx.Err() != nil {
		err = errors.Join(ctx.Err(), last)
	}
	if err != nil {
		return fmt.Errorf("waiting for the definition of %q to take effect: %w", crd.Name, err)
	}
	return nil
}

func (i *installer) served(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.ListKind})
		if err := i.hubClient.List(ctx, list, client.Limit(1)); err != nil {
			return err
		}
	}
	return nil
}
