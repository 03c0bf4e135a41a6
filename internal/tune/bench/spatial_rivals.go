package bench

// Rival is a program that carries out the suite's cases in another way.
type Rival struct {
	Name    string
	Command []string
}
