package podtemplate

// Path returns where the spec of the pod template stands in objects of a kind, whatever its group. Kinds that are not
// named here, those of others among them, have it where a Deployment has it, if they have one.
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
