package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/prose"
	"fairlead.dev/hub/people/view"
)

// soaking matches the soak time in a rollout's line.
var soaking = regexp.MustCompile(`, soak [^;]*`)

// follow prints changes until the rollout is over or halted.
func (f *rolloutStatusFlags) follow(ctx context.Context, env Environment, hub *opened, s *view.Staged, args []string) error {
	ref, err := hub.named(args, &f.namespace)
	if err != nil {
		return err
	}
	begin, said := env.Clock.Now(), ""
	hubAway := outage{env: env, answered: true}
	if f.timeout > 0 {
		hubAway.ends = begin.Add(f.timeout)
	}
	read := s
	over, err := f.reallyOver(ctx, hub, read)
	for {
		again, failed := hubAway.again(err)
		if failed != nil {
			return failed
		}
		if !again {
			s = read
		}
		// The soak time changes constantly, and is not worth a line.
		line := prose.OneLine(s.Line)
		if news := soaking.ReplaceAllString(line, ""); news != said && !again {
			say(env.Out, "%s", line)
			if s.Phase == fairleadv1alpha1.RolloutWaiting {
				say(env.Err, "%s", s.Waits)
				say(env.Err, "Next: %s", s.Next)
			}
			said = news
		}
		switch took := env.Clock.Now().Sub(begin); {
		case again:
		case over:
			return nil
		case s.Halted:
			say(env.Err, "%s", s.Waits)
			say(env.Err, "Next: %s", s.Next)
			return f.verdict(s)
		case f.timeout > 0 && took >= f.timeout:
			return &statusError{ExitTimeout, strings.TrimSpace(
				fmt.Sprintf("the rollout of %s is not over after %s. %s", s.Template, f.timeout, cmp.Or(s.Waits, s.Behind)))}
		}
		select {
		case <-ctx.Done():
			return errors.New("told to stop watching the rollout of " + ref.String())
		case <-env.Clock.After(lookEvery):
		}
		if read, err = hub.Staged(ctx, ref); err == nil {
			over, err = f.reallyOver(ctx, hub, read)
		}
	}
}
