package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"fairlead.dev/hub/cli/table"
	"fairlead.dev/hub/people/view"
	"fairlead.dev/hub/people/view/diff"
)

// rolloutHistoryFlags are the flags of `hub rollout history`.
type rolloutHistoryFlags struct {
	rolloutFlags
	output   outputFlag
	revision int64
	between  []int64
}

func newRolloutHistory(env Environment) *cobra.Command {
	var f rolloutHistoryFlags
	cmd := &cobra.Command{
		Use:   "history KIND/NAME",
		Short: "Show the revisions of an application that are kept",
		Long: "Show each revision: why there is one, and how many clusters have it. What clusters have is kept, and beside that as many\n" +
			"as historyLimit of the RolloutStrategy says. `hub rollout undo --to-revision` goes back to one of them.",
		Example: "  hub rollout history deployment/web -n shop\n  hub rollout history deployment/web --revision 4\n" +
			"  hub rollout history deployment/web --between 4,5",
		Args: oneApplication,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), env, args) },
	}
	f.add(env, cmd)
	f.output.add(cmd)
	cmd.Flags().Int64Var(&f.revision, "revision", 0, "show what this revision consists of, with secret values masked")
	cmd.Flags().Int64SliceVar(&f.between, "between", nil, "show how one revision differs from another, as OLD,NEW")
	return cmd
}

func (f *rolloutHistoryFlags) run(ctx context.Context, env Environment, args []string) error {
	switch err := f.output.check(); {
	case err != nil:
		return err
	case len(f.between) != 0 && len(f.between) != 2:
		return errors.New("--between takes two revisions, such as 4,5")
	case f.revision < 0:
		return fmt.Errorf("--revision %d is not a revision", f.revision)
	case f.revision > 0 && len(f.between) > 0:
		return errors.New("--revision and --between exclude each other")
	}
	hub, s, err := f.find(ctx, env, args)
	switch {
	case err != nil:
		return err
	case f.revision > 0:
		return f.content(ctx, env, hub, s)
	case len(f.between) > 0:
		return f.difference(ctx, env, hub, s)
	}
	if err := hub.CountRevisions(ctx, s); err != nil {
		say(env.Err, "How many clusters have each revision is not known: %v", advise(err))
	}
	if len(s.Revisions) == 0 && f.output.text() {
		say(env.Err, "%s has no revision yet", s.Template)
		return nil
	}
	return f.output.print(env, listOf(s.Revisions), f.table(env, s))
}

// contents reads the content of revisions. Secret values are masked such that different values look different.
func (f *rolloutHistoryFlags) contents(ctx context.Context, env Environment, hub *opened, s *view.Staged, numbers ...int64) ([]view.Revision, error) {
	key := make([]byte, sha256.Size)
	if _, err := io.ReadFull(env.Random, key); err != nil {
		return nil, fmt.Errorf("masking what is secret: %w", err)
	}
	mask := diff.NewMask(key)
	var out []view.Revision
	for _, number := range numbers {
		kept, err := hub.Kept(ctx, s.Object, number)
		if err != nil {
			return nil, err
		}
		out = append(out, view.ContentOf(number, kept, mask))
	}
	return out, nil
}

// content prints the content of a revision.
func (f *rolloutHistoryFlags) content(ctx context.Context, env Environment, hub *opened, s *view.Staged) error {
	found, err := f.contents(ctx, env, hub, s, f.revision)
	if err != nil {
		return err
	}
	format := f.output.format
	if f.output.text() {
		format = outputYAML
	}
	return (&outputFlag{format: format}).encode(env, found[0])
}

// difference prints the difference between two revisions.
func (f *rolloutHistoryFlags) difference(ctx context.Context, env Environment, hub *opened, s *view.Staged) error {
	found, err := f.contents(ctx, env, hub, s, f.between...)
	if err != nil {
		return err
	}
	named := func(i int) string { return fmt.Sprintf("r%d", f.between[i]) }
	note := cmp.Or(found[0].Note, found[1].Note)
	for i := range found {
		found[i].Number, found[i].Note = 0, ""
	}
	text, err := diff.Objects(named(0), named(1), found[0], found[1])
	if err != nil {
		return err
	}
	switch {
	case text == "" && note != "":
		text = fmt.Sprintf("# In what you may read %s and %s have the same content\n", named(0), named(1))
	case text == "":
		text = fmt.Sprintf("# %s and %s have the same content\n", named(0), named(1))
	}
	if note != "" {
		say(env.Err, "At least one of them is not shown as a whole. %s", note)
	}
	_, err = io.WriteString(env.Out, text)
	return err
}

func (f *rolloutHistoryFlags) table(env Environment, s *view.Staged) *table.Table {
	t := &table.Table{Columns: []table.Column{
		{Name: "REVISION"}, {Name: "AGE"}, {Name: "CLUSTERS"}, {Name: "STATE"}, {Name: "GENERATION", Wide: true}, {Name: "HASH", Wide: true}, {Name: "CAUSE"},
	}}
	for _, r := range s.Revisions {
		clusters := ""
		if r.Clusters != nil {
			clusters = strconv.Itoa(*r.Clusters)
		}
		state := table.Cell{}
		switch r.Number {
		case s.Stable:
			state = table.Cell{Text: "stable", Tone: table.Good}
		case s.Revision:
			state = table.Cell{Text: "going out", Tone: table.Warn}
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: fmt.Sprint(r.Number)},
			{Text: since(env.Clock.Now(), r.CreatedAt)},
			{Text: clusters},
			state,
			{Text: fmt.Sprint(r.TemplateGeneration)},
			{Text: r.Hash},
			{Text: r.Cause},
		})
	}
	return t
}
