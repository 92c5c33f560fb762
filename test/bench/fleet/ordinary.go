package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ordinaries is how many applications without a strategy are brought out, changed and deleted.
const ordinaries = 20

// ordinary brings applications out, changes and deletes them, one after the other, and returns the
// requests about them that were made for each, those of their agents left aside.
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
	out, u := map[string]float64{}, since(before, after)
	for key, n := range u.requests {
		_, resource, _ := strings.Cut(key, " ")
		resource, _, _ = strings.Cut(resource, "/")
		if n -= u.agents[key]; n != 0 && (concernsApplications(key) || isOfRollouts[resource]) {
			out[key] = n / ordinaries
		}
	}
	return out, nil
}

// live brings an application out, changes it and deletes it.
func (s *system) live(ctx context.Context, name client.ObjectKey) error {
	ctx, cancel := context.WithTimeout(ctx, changePatience)
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

// isOfRollouts are the resources that staged rollouts use.
var isOfRollouts = map[string]bool{"stagedrollouts": true, "clusterstagedrollouts": true, "rolloutstrategies": true, "secrets": true}

func keysOf(a, b map[string]float64) iter.Seq[string] {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return maps.Keys(both)
}

func sum(of map[string]float64) float64 {
	var out float64
	for _, n := range of {
		out += n
	}
	return out
}
