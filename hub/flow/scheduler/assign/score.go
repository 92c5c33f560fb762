package assign

// Names of the scorers.
const (
	ClusterLocality = "ClusterLocality"
	ClusterAffinity = "ClusterAffinity"
)

// localityScore is what a cluster gets that has the application already.
const localityScore = 100

// Score is what one scorer says.
type Score struct {
	// Plugin is the name of the scorer.
	Plugin string `json:"plugin"`
	Value  int64  `json:"value"`
}

// ScoreOf scores a cluster that passed the filters: the sum of what the scorers say.
func ScoreOf(target bool) int64 {
	if target {
		return localityScore
	}
	return 0
}

// ScoresByPlugin says what each scorer contributes to ScoreOf, by name.
func ScoresByPlugin(target bool) []Score {
	return []Score{{Plugin: ClusterAffinity}, {Plugin: ClusterLocality, Value: ScoreOf(target)}}
}
