// Package agents decides which clusters have their agents upgraded next: in the waves of a
// RolloutStrategy, one after the other, until too many of a wave go back. It is pure. What it goes by
// stands on the Clusters, so whoever asks may be killed and ask again.
package agents
