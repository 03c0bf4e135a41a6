package gridio

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// ColorMap turns the place of a value in its range, 0 to 1, into a colour.
type ColorMap struct {
	Name    string
	about   string
	centred bool // made for values on both sides of zero
	at      func(t float64) color.RGBA
}

// ColorMaps lists the maps, the most useful first.
var ColorMaps = []ColorMap{
	{Name: "dusk", about: "violet over green to yellow, evenly lighter all the way", at: dusk},
	{Name: "tide", about: "blue over white to red, for values on both sides of zero", centred: true, at: tide},
	{Name: "grey", about: "black to white", at: grey},
}

// findColorMap returns the map of that name.
func findColorMap(name string) (ColorMap, error) {
	var known []string
	for _, m := range ColorMaps {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name+" ("+m.about+")")
	}
	return ColorMap{}, refuse("there is no colour map %q", name).hint("there are %s", strings.Join(known, "; "))
}

// nanColor marks cells that are not numbers; no map comes near it.
var nanColor = color.RGBA{255, 0, 255, 255}

func grey(t float64) color.RGBA {
	y := uint8(math.Round(255 * t))
	return color.RGBA{y, y, y, 255}
}

// dusk and tide are curves in OKLab, a space in which equal steps look equal.
// Their chromas stay where a screen can show them: clipping would draw edges
// that the data do not have.

// dusk grows evenly lighter while the hue turns from violet to yellow. Its
// chroma is least where screens are weakest, in the blue-greens.
func dusk(t float64) color.RGBA {
	return screen(oklab(0.22+0.72*t, 0.092+0.14*(t-0.41)*(t-0.41), 300-195*t))
}

// tide is lightest and colourless at the centre; equal distances from it are
// equally dark on both sides.
func tide(t float64) color.RGBA {
	d := 2*t - 1
	if d < 0 {
		return screen(oklab(0.96+0.54*d, -0.155*d, 260))
	}
	return screen(oklab(0.96-0.54*d, 0.155*d, 28))
}

// oklab converts a lightness, a chroma and a hue in degrees to linear sRGB; the
// matrices are those of B. Ottosson, "A perceptual color space for image
// processing" (2020).
func oklab(lightness, chroma, degrees float64) [3]float64 {
	hue := degrees * math.Pi / 180
	a, b := chroma*math.Cos(hue), chroma*math.Sin(hue)
	l := lightness + 0.3963377774*a + 0.2158037573*b
	m := lightness - 0.1055613458*a - 0.0638541728*b
	s := lightness - 0.0894841775*a - 1.2914855480*b
	l, m, s = l*l*l, m*m*m, s*s*s
	return [3]float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s,
	}
}

// screen encodes linear values from 0 to 1 as sRGB (IEC 61966-2-1).
func screen(linear [3]float64) color.RGBA {
	var code [3]uint8
	for i, c := range linear {
		if c < 0 || c > 1 {
			panic(fmt.Sprintf("gridio: a colour map leaves the colours of a screen at %v", linear))
		}
		if c <= 0.0031308 {
			c *= 12.92
		} else {
			c = 1.055*math.Pow(c, 1/2.4) - 0.055
		}
		code[i] = uint8(math.Round(255 * c))
	}
	return color.RGBA{code[0], code[1], code[2], 255}
}
