package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/journal"
	"fairlead.dev/agent/journal/entry"
	"fairlead.dev/common/interpreter/store"
)

// interpretersTimeout is how long an agent that knows its Works from the journal waits for the hub's interpreter
// rules at the start.
const interpretersTimeout = 3 * time.Second

// remembered is what the agent knows from before its start.
type remembered struct {
	// journal is nil if there is no state directory.
	journal *journal.Journal
	// namespace is the execution namespace; empty if it is not known.
	namespace string
	works     []execution.Kept
}

// journalOptions returns the options of the journal.
func journalOptions(ctx context.Context, o Options) journal.Options {
	return journal.Options{
		Directory: filepath.Join(o.StateDir, "journal", o.Cluster),
		Cluster:   o.Cluster,
		Key:       entry.KeyOf(o.JournalSecret),
		Clock:     o.Clock,
		Log:       ctrl.LoggerFrom(ctx),
		Registry:  ctrlmetrics.Registry,
	}
}

// CheckRecord returns an error if there is a journal that is not sealed as the options say, and so cannot be read.
func CheckRecord(ctx context.Context, o Options) error {
	return journal.CheckSeal(journalOptions(ctx, o))
}

// remember opens the journal.
func remember(ctx context.Context, o Options) remembered {
	if o.StateDir == "" {
		return remembered{}
	}
	j, namespace, records := journal.Open(journalOptions(ctx, o))
	out := remembered{journal: j, namespace: namespace}
	for _, r := range records {
		out.works = append(out.works, execution.Kept{Work: r.Work, Absent: r.Absent})
	}
	return out
}

// rules returns the interpreter rules that the hub last sent; nil if they are not known, or if webhooks were not read
// then and are needed now.
func (m remembered) rules(noWebhooks bool) *store.Sources {
	if m.journal == nil {
		return nil
	}
	kept := m.journal.Rules()
	if kept == nil || kept.Unasked && !noWebhooks {
		return nil
	}
	return &store.Sources{Customizations: kept.Customizations, Webhooks: kept.Webhooks, Refused: kept.Refused}
}

// keepRules stores the interpreter rules in the journal.
func (m remembered) keepRules(read store.Sources, noWebhooks bool) {
	if m.journal == nil {
		return
	}
	m.journal.PutRules(entry.Rules{Customizations: read.Customizations, Webhooks: read.Webhooks, Unasked: noWebhooks, Refused: read.Refused})
}

// deps adds what is remembered to the dependencies of execution.
func (m remembered) deps(d execution.Deps) execution.Deps {
	d.Kept = m.works
	if m.journal != nil { // an interface that holds a nil pointer would not be nil
		d.Journal, d.PastKinds, d.Deletions = m.journal, m.journal.Kinds(), m.journal.Deletions()
	}
	return d
}

// addTo adds the journal's writer to the manager.
func (m remembered) addTo(mgr manager.Manager) error {
	if m.journal == nil {
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(m.journal.Start)); err != nil {
		return fmt.Errorf("adding the journal: %w", err)
	}
	return nil
}

// where returns the execution namespace: from the journal, or else from the hub, for which it waits.
func (m remembered) where(ctx context.Context, hub client.Reader, o Options) (string, error) {
	if m.namespace != "" {
		return m.namespace, nil
	}
	namespace, err := executionNamespace(ctx, hub, o.Cluster, o.Clock)
	if err == nil && m.journal != nil {
		m.journal.Begin(namespace)
	}
	return namespace, err
}

// confirm asks the hub whether the execution namespace is still the one in the journal. If not, the agent has to
// restart with a new journal.
func (m remembered) confirm(mgr manager.Manager, hub client.Reader, o Options, moved *string) error {
	if m.namespace == "" {
		return nil
	}
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		namespace, err := executionNamespace(ctx, hub, o.Cluster, o.Clock)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // Told to stop while waiting for the hub.
		case err != nil:
			return err
		case namespace != m.namespace:
			*moved = namespace
			return fmt.Errorf("the Works of cluster %q are in namespace %q now, and were in %q; the agent must be restarted", o.Cluster, namespace, m.namespace)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("adding the question for the execution namespace: %w", err)
	}
	return nil
}
