package store

import (
	"context"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// retry is after how long a cache that could not be read is read again.
const retry = time.Second

// Follow takes over changes that a cache shows until the context ends.
func (s *Store) Follow(ctx context.Context, from cache.Cache) error {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // what woke it will be read then
		}
	}
	kinds := []client.Object{&configv1alpha1.ResourceInterpreterCustomization{}}
	if !s.options.NoWebhooks {
		kinds = append(kinds, &configv1alpha1.ResourceInterpreterWebhookConfiguration{})
	}
	for _, kind := range kinds {
		// All are listed at once: on a slow network each takes its time.
		if _, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watching what kinds mean: %w", err)
		}
	}
	for _, kind := range kinds {
		informer, err := from.GetInformer(ctx, kind)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // Told to stop before the API could be read.
		}
		if err != nil {
			return fmt.Errorf("watching what kinds mean: %w", err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
		}); err != nil {
			return fmt.Errorf("watching what kinds mean: %w", err)
		}
	}
	wake() // what was deleted before the watch began is no event
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if err := s.Load(ctx, from); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Reading what kinds mean failed; it is tried again")
			time.AfterFunc(retry, wake)
		}
	}
}
