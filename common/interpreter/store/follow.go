package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

// retry is the delay before a cache that could not be read is read again.
const retry = time.Second

// Follow applies the changes that a cache shows until the context ends. A kind that the API does not let this process
// read does not block the other: its last known rules stay in use until the cache has read it; the cache keeps trying
// by itself.
func (s *Store) Follow(ctx context.Context, from cache.Cache) error {
	changed := make(chan struct{}, 1)
	wake := func() {
		select {
		case changed <- struct{}{}:
		default: // a read that covers this change is pending
		}
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // before waiting, also after an error
	follow := func(kind client.Object) (isSynced func() bool, err error) {
		informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watching what kinds mean: %w", err)
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }, DeleteFunc: func(any) { wake() },
		})
		if err != nil {
			return nil, fmt.Errorf("watching what kinds mean: %w", err)
		}
		waiting.Go(func() {
			select {
			case <-registration.HasSyncedChecker().Done():
				wake() // deletions before the watch began are not events
			case <-ctx.Done():
			}
		})
		return registration.HasSynced, nil
	}
	scripts, err := follow(&configv1alpha1.ResourceInterpreterCustomization{})
	hooks := func() bool { return true }
	if err == nil && !s.options.NoWebhooks {
		hooks, err = follow(&configv1alpha1.ResourceInterpreterWebhookConfiguration{})
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil // the context ended before the API could be read
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
		if err := s.loadSynced(ctx, from, scripts(), hooks()); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Reading what kinds mean failed; it is tried again")
			time.AfterFunc(retry, wake)
		}
	}
}

// loadSynced applies what a cache has read: both kinds, or those whose informers have synced.
func (s *Store) loadSynced(ctx context.Context, from client.Reader, scripts, hooks bool) error {
	if scripts && hooks {
		return s.Load(ctx, from)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.table.Load().sources
	read.Refused = s.refused
	if scripts {
		list := &configv1alpha1.ResourceInterpreterCustomizationList{}
		if err := from.List(ctx, list); err != nil {
			return fmt.Errorf("listing ResourceInterpreterCustomizations: %w", err)
		}
		read.Customizations = sortedScripts(list.Items)
	}
	if hooks && !s.options.NoWebhooks {
		list := &configv1alpha1.ResourceInterpreterWebhookConfigurationList{}
		if err := from.List(ctx, list); err != nil {
			return fmt.Errorf("listing ResourceInterpreterWebhookConfigurations: %w", err)
		}
		read.Webhooks = sortedHooks(list.Items)
	}
	if s.options.Keep != nil && (s.options.Kept != nil || s.isLoaded()) { // otherwise a kind that was never read would be stored as empty
		s.options.Keep(read)
	}
	s.take(read)
	return nil
}
