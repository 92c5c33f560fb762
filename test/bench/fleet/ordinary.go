package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// ordinaries is how many applications without a strategy are created, changed and deleted.
	ordinaries = 20
	// luck is the random variation of the requests per application: events close together are handled as one.
	luck = 0.5
)

// ordinary creates, changes and deletes applications, one after the other, and returns the requests about them per
// application, without those of their agents.
func (s *system) ordinary(ctx context.Context, when string) (map[string]float64, error) {
	before, err := s.awaitQuiet(ctx)
	if err != nil {
		return nil, err
	}
	for i := range ordinaries {
		if err := s.live(ctx, client.ObjectKey{Namespace: application(0).Namespace, Name: fmt.Sprintf("ordinary-%s-%d", when, i)}); err != nil {
			return nil, err
		}
	}
	after, err := s.awaitQuiet(ctx)
	if err != nil {
		return nil, err
	}
	return ofApplications(since(before, after)), nil
}

// ofApplications returns the requests about applications and rollouts per ordinary application. Watches are excluded:
// they are counted when they end, which for the hub's watches may be at any time.
func ofApplications(u used) map[string]float64 {
	out := map[string]float64{}
	for key, n := range u.server.Requests {
		n -= float64(u.agents.Requests[key])
		if n != 0 && !strings.HasPrefix(key, "WATCH ") && (concernsApplications(key) || isOfRollouts[resourceOf(key)]) {
			out[key] = n / ordinaries
		}
	}
	return out
}

// live creates an application, changes and deletes it.
func (s *system) live(ctx context.Context, name client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	shown, err := s.watchTemplate(ctx, name, firstVersion)
	if err != nil {
		return err
	}
	template := deployment(name)
	if err := s.hubClient.Create(ctx, template); err != nil {
		return fmt.Errorf("creating an application: %w", err)
	}
	select {
	case <-shown:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the status of %q: %w", name, ctx.Err())
	}
	if _, _, err := s.change(ctx, name, "2.0.0"); err != nil {
		return err
	}
	if err := s.hubClient.Delete(ctx, template); err != nil {
		return fmt.Errorf("deleting an application: %w", err)
	}
	return nil
}

// compare compares the requests for an application without a strategy before any application had one and next to one
// that has.
func (s *system) compare(before, beside map[string]float64, tell put) {
	both := maps.Clone(before)
	maps.Copy(both, beside)
	var more, ofRollouts float64
	for _, key := range slices.Sorted(maps.Keys(both)) {
		more += beside[key] - before[key]
		if isOfRollouts[resourceOf(key)] {
			ofRollouts += beside[key]
		}
		if before[key] != beside[key] {
			tell("without a strategy, "+key+", before", before[key], "")
			tell("without a strategy, "+key+", beside", beside[key], "")
		}
	}
	s.bars.Most("without a strategy: requests about rollouts for each application", ofRollouts, 0, "")
	s.bars.Most("without a strategy: more requests for each, by more than luck", more, luck, "")
}

// resourceOf returns the resource of a request.
func resourceOf(key string) string {
	_, resource, _ := strings.Cut(key, " ")
	resource, _, _ = strings.Cut(resource, "/")
	return resource
}

// isOfRollouts has the resources that staged rollouts use.
var isOfRollouts = map[string]bool{"stagedrollouts": true, "clusterstagedrollouts": true, "rolloutstrategies": true, "secrets": true}
