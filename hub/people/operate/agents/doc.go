// Package agents decides which clusters have their agents upgraded next: in the waves of a RolloutStrategy, one after
// the other, until too many in a wave fail. It is pure. Its input is stored on the Clusters, so the caller may be
// killed and start again.
package agents
