package podtemplate

// Path returns the path of the pod template's spec in objects of a kind, whatever its group. For kinds that are not
// listed, including custom ones, it is the path in a Deployment.
func Path(kind string) []string {
	switch kind {
	case "Pod":
		return []string{"spec"}
	case "PodTemplate":
		return []string{"template", "spec"}
	case "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template", "spec"}
	default:
		return []string{"spec", "template", "spec"}
	}
}
