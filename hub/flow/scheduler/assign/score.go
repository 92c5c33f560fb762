package assign

// Names of the scorers.
const (
	ClusterLocality = "ClusterLocality"
	ClusterAffinity = "ClusterAffinity"
)

// localityScore is the score of a cluster that has the application already.
const localityScore = 100

// Score is the score of one scorer.
type Score struct {
	// Plugin is the name of the scorer.
	Plugin string `json:"plugin"`
	Value  int64  `json:"value"`
}

// ScoreOf returns the score of a cluster that passed the filters, which is the sum over all scorers.
func ScoreOf(target bool) int64 {
	if target {
		return localityScore
	}
	return 0
}

// ScoresByPlugin returns what each scorer contributes to ScoreOf, sorted by name.
func ScoresByPlugin(target bool) []Score {
	return []Score{{Plugin: ClusterAffinity}, {Plugin: ClusterLocality, Value: ScoreOf(target)}}
}
