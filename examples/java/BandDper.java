import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * BandDPER without dependencies: reads banddper_weights.json, reproduces its self-test, and answers
 * positions from standard input, one per line, with the raw and the final value of the side to move.
 *
 * <pre>echo "nnN---/--b---/-----b/b-nn--/--b---/n-B--b w 2" | java BandDper.java banddper_weights.json</pre>
 *
 * Exit status: 0; 1 if the self-test fails; 2 for a file or a position that cannot be used. Java 11 or newer.
 */
public final class BandDper {
    static final int SIDE = 6, CELLS = 36, PLANES = 16, NEAR = 32, FAR = 64, HEAD = 64;
    static final int PERSPECTIVE = PLANES * CELLS, VIEW = 2 * PERSPECTIVE + 3;
    static final int WHITE = 0, BLACK = 1;
    static final double TOLERANCE = 1e-4;
    static final String EMPTY = "banddper-16-empty", REACH = "banddper-16-reach";
    static final int[][] BAND_MAP = {
        {1, 2, 2, 3, 1, 2}, {3, 1, 3, 1, 3, 2}, {2, 3, 1, 2, 1, 3},
        {2, 1, 3, 2, 3, 1}, {1, 3, 1, 3, 1, 2}, {3, 2, 2, 1, 3, 2},
    };

    /** A file or a position that cannot be used; the message is one sentence. */
    static final class BadInput extends Exception {
        private static final long serialVersionUID = 1;

        BadInput(String why) {
            super(why);
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 1) {
            System.err.println("usage: java BandDper.java banddper_weights.json < positions");
            System.exit(2);
        }
        try {
            BandDper network = new BandDper(Path.of(arguments[0]));
            String failure = network.selfTest();
            if (failure != null) {
                System.err.println(arguments[0] + " fails its self-test: " + failure);
                System.exit(1);
            }
            network.answer(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
        } catch (BadInput bad) {
            System.err.println(bad.getMessage());
            System.exit(2);
        }
    }

    /** Writes a line with both values for every line that is not blank. */
    void answer(BufferedReader lines) throws IOException, BadInput {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (!line.isBlank()) {
                double raw = raw(new Position(line));
                System.out.println(String.format(Locale.ROOT, "%.7f %.7f", raw, Math.tanh(raw)));
            }
        }
    }

    // The weights ----------------------------------------------------------------------------------

    final String encoding;
    final boolean clips;
    final int blocks, embedding, width;
    final Map<String, float[]> tensors = new HashMap<>();
    final List<?> tests;
    final float[] nearBias = new float[CELLS * NEAR]; // by cell, with what the planes of the bands add
    final float[] view = new float[VIEW];
    final float[] near = new float[CELLS * NEAR], seen = new float[9 * NEAR], far = new float[FAR * CELLS];
    final float[] trunk, inner, outer, head = new float[HEAD];

    BandDper(Path path) throws BadInput {
        Map<?, ?> file = object(path + " is not a JSON object", read(path));
        require(number(file.get("format")) == 1, path + ": 'format' is not 1");
        require("banddper".equals(file.get("model")), path + ": 'model' is not 'banddper'");
        encoding = String.valueOf(file.get("encoding"));
        require(encoding.equals(EMPTY) || encoding.equals(REACH), path + ": 'encoding' is " + encoding);
        blocks = whole(path, file, "num_res_blocks", 0, 64);
        embedding = whole(path, file, "embed_dim", 1, 4095);
        width = 2 * embedding + 2;
        Object activation = file.containsKey("inner_activation") ? file.get("inner_activation") : "relu";
        clips = "clipped".equals(activation);
        require(clips || "relu".equals(activation), path + ": 'inner_activation' is " + activation);
        checkBands(path, file.get("board_band_map"));
        require(file.get("selftest") instanceof List, path + ": 'selftest' is missing");
        tests = (List<?>) file.get("selftest");
        require(tests.size() >= 8, path + ": 'selftest' has fewer than 8 positions");
        readTensors(path, object(path + ": 'tensors' is missing", file.get("tensors")));
        trunk = new float[width];
        inner = new float[width];
        outer = new float[width];
        foldBands();
    }

    private static void checkBands(Path path, Object given) throws BadInput {
        double[] bands = new double[CELLS];
        String what = path + ": 'board_band_map'";
        int count = fill(what, given, new int[] {SIDE, SIDE}, 0, bands, 0);
        for (int cell = 0; cell < count; cell++) {
            require(bands[cell] == band(cell), what + " is of another board");
        }
    }

    private void readTensors(Path path, Map<?, ?> given) throws BadInput {
        Map<String, int[]> shapes = new LinkedHashMap<>();
        shapes.put("enc_conv1_w", new int[] {NEAR, PLANES, 3, 3});
        shapes.put("enc_conv1_b", new int[] {NEAR});
        shapes.put("enc_conv2_w", new int[] {FAR, NEAR, 3, 3});
        shapes.put("enc_conv2_b", new int[] {FAR});
        shapes.put("enc_proj_w", new int[] {embedding, FAR * CELLS});
        shapes.put("enc_proj_b", new int[] {embedding});
        for (int block = 0; block < blocks; block++) {
            for (String layer : List.of("_l1", "_l2")) {
                shapes.put("res" + block + layer + "_w", new int[] {width, width});
                shapes.put("res" + block + layer + "_b", new int[] {width});
            }
        }
        shapes.put("out1_w", new int[] {HEAD, width});
        shapes.put("out1_b", new int[] {HEAD});
        shapes.put("out2_w", new int[] {1, HEAD});
        shapes.put("out2_b", new int[] {1});
        shapes.put("w_forced_pass", new int[] {});
        for (Map.Entry<String, int[]> entry : shapes.entrySet()) {
            tensors.put(entry.getKey(), tensor(path, entry.getKey(), given, entry.getValue()));
        }
        for (Object name : given.keySet()) {
            require(shapes.containsKey(name), path + ": there is no tensor '" + name + "' in this network");
        }
    }

    private static float[] tensor(Path path, String name, Map<?, ?> given, int[] shape) throws BadInput {
        String what = path + ": the tensor '" + name + "'";
        require(given.containsKey(name), what + " is missing");
        double[] numbers = new double[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        fill(what, given.get(name), shape, 0, numbers, 0);
        float[] weights = new float[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            weights[i] = (float) numbers[i];
            require(Float.isFinite(weights[i]), what + " has a number that is not finite");
        }
        return weights;
    }

    /** Copies a nested list of this shape, row by row; says where the next number goes. */
    private static int fill(String what, Object given, int[] shape, int axis, double[] out, int at)
            throws BadInput {
        if (axis == shape.length) {
            require(given instanceof Double, what + " is misshapen: it has " + given + " for a number");
            out[at] = (Double) given;
            return at + 1;
        }
        require(given instanceof List && ((List<?>) given).size() == shape[axis], what + " is misshapen");
        for (Object part : (List<?>) given) {
            at = fill(what, part, shape, axis + 1, out, at);
        }
        return at;
    }

    private static Object read(Path path) throws BadInput {
        try {
            return new Json(Files.readString(path)).document();
        } catch (IOException error) {
            throw new BadInput(path + " cannot be read");
        } catch (BadInput error) {
            throw new BadInput(path + " is not complete JSON: " + error.getMessage());
        }
    }

    private static Map<?, ?> object(String why, Object given) throws BadInput {
        require(given instanceof Map, why);
        return (Map<?, ?>) given;
    }

    private static int whole(Path path, Map<?, ?> file, String name, int least, int most) throws BadInput {
        double number = number(file.get(name));
        boolean fits = number == Math.rint(number) && number >= least && number <= most;
        require(fits, path + ": '" + name + "' is not a whole number " + least + " to " + most);
        return (int) number;
    }

    private static double number(Object given) {
        return given instanceof Double ? (Double) given : Double.NaN;
    }

    static void require(boolean condition, String why) throws BadInput {
        if (!condition) {
            throw new BadInput(why);
        }
    }

    /** What is wrong with the self-test, or null. */
    String selfTest() throws BadInput {
        for (Object entry : tests) {
            Map<?, ?> test = object("an entry of 'selftest' is not an object", entry);
            String line = String.valueOf(test.get("position"));
            double raw = raw(new Position(line));
            boolean agrees = Math.abs(raw - number(test.get("raw"))) <= TOLERANCE
                    && Math.abs(Math.tanh(raw) - number(test.get("value"))) <= TOLERANCE;
            if (!agrees) {
                return "the raw value of " + line + " is " + raw + ", not " + test.get("raw");
            }
        }
        return null;
    }

    // The network ----------------------------------------------------------------------------------

    /** The value of a position before tanh, for the side to move. */
    double raw(Position position) {
        position.write(encoding, view);
        for (int side = 0; side < 2; side++) {
            encode(side * PERSPECTIVE);
            linear("enc_proj", far, trunk, side * embedding, embedding);
        }
        clip(trunk, 2 * embedding);
        trunk[width - 2] = view[VIEW - 3];
        trunk[width - 1] = view[VIEW - 2];
        for (int block = 0; block < blocks; block++) {
            linear("res" + block + "_l1", trunk, inner, 0, width);
            relu(inner);
            if (clips) {
                clip(inner, width);
            }
            linear("res" + block + "_l2", inner, outer, 0, width);
            for (int i = 0; i < width; i++) {
                trunk[i] += outer[i];
            }
            clip(trunk, width);
        }
        linear("out1", trunk, head, 0, HEAD);
        relu(head);
        float[] out = new float[1];
        linear("out2", head, out, 0, 1);
        return out[0] + tensors.get("w_forced_pass")[0] * view[VIEW - 1];
    }

    /** Both convolutions of the perspective that begins at `first`: written to `far`. */
    private void encode(int first) {
        System.arraycopy(nearBias, 0, near, 0, near.length);
        for (int plane = 0; plane < PLANES; plane++) {
            for (int cell = 0; cell < CELLS && (plane < 4 || plane > 6); cell++) {
                float number = view[first + plane * CELLS + cell];
                if (number != 0) {
                    addInput(plane, cell, number, near);
                }
            }
        }
        relu(near);
        float[] kernel = tensors.get("enc_conv2_w"), bias = tensors.get("enc_conv2_b");
        for (int cell = 0; cell < CELLS; cell++) {
            for (int tap = 0; tap < 9; tap++) {
                int from = neighbour(cell, 2 * (tap / 3 - 1), 2 * (tap % 3 - 1));
                for (int channel = 0; channel < NEAR; channel++) {
                    seen[channel * 9 + tap] = from < 0 ? 0 : near[from * NEAR + channel];
                }
            }
            for (int channel = 0; channel < FAR; channel++) {
                far[channel * CELLS + cell] = Math.max(0, bias[channel] + dot(kernel, channel * seen.length, seen));
            }
        }
    }

    /** The planes of the bands never change: what they add becomes part of a bias by cell. */
    private void foldBands() {
        for (int cell = 0; cell < CELLS; cell++) {
            System.arraycopy(tensors.get("enc_conv1_b"), 0, nearBias, cell * NEAR, NEAR);
        }
        for (int cell = 0; cell < CELLS; cell++) {
            addInput(3 + band(cell), cell, 1, nearBias);
        }
    }

    /** Adds what one input of the first convolution adds to the cells around it. */
    private void addInput(int plane, int cell, float number, float[] sums) {
        float[] kernel = tensors.get("enc_conv1_w");
        for (int tap = 0; tap < 9; tap++) {
            int to = neighbour(cell, 1 - tap / 3, 1 - tap % 3); // seen from `to`, the input is at the tap
            for (int channel = 0; to >= 0 && channel < NEAR; channel++) {
                sums[to * NEAR + channel] += number * kernel[(channel * PLANES + plane) * 9 + tap];
            }
        }
    }

    private void linear(String name, float[] x, float[] out, int at, int count) {
        float[] weights = tensors.get(name + "_w"), bias = tensors.get(name + "_b");
        for (int row = 0; row < count; row++) {
            out[at + row] = bias[row] + dot(weights, row * x.length, x);
        }
    }

    private static float dot(float[] weights, int first, float[] x) {
        float sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += weights[first + i] * x[i];
        }
        return sum;
    }

    private static void relu(float[] x) {
        for (int i = 0; i < x.length; i++) {
            x[i] = Math.max(0, x[i]);
        }
    }

    private static void clip(float[] x, int count) {
        for (int i = 0; i < count; i++) {
            x[i] = Math.min(1, Math.max(0, x[i]));
        }
    }

    static int band(int cell) {
        return BAND_MAP[cell / SIDE][cell % SIDE];
    }

    /** The cell so many rows and columns away, or -1 outside the board. */
    static int neighbour(int cell, int down, int right) {
        int row = cell / SIDE + down, column = cell % SIDE + right;
        return row < 0 || row >= SIDE || column < 0 || column >= SIDE ? -1 : row * SIDE + column;
    }

    // Positions ------------------------------------------------------------------------------------

    /** A position, and what the network sees of it. */
    static final class Position {
        final long[] paladins = new long[2];
        final int[] unicorns = {-1, -1};
        final int toMove, required;

        Position(String line) throws BadInput {
            String[] parts = line.trim().split("\\s+");
            require(parts.length == 3, "'" + line.trim() + "': a position is a board, a side and a band");
            String[] rows = parts[0].split("/", -1);
            require(rows.length == SIDE, "a board has 6 rows, not " + rows.length);
            for (int row = 0; row < SIDE; row++) {
                require(rows[row].length() == SIDE, "row " + (row + 1) + " does not have 6 cells");
                for (int column = 0; column < SIDE; column++) {
                    put(rows[row].charAt(column), row * SIDE + column);
                }
            }
            for (int colour = 0; colour < 2; colour++) {
                String name = colour == WHITE ? "white" : "black";
                require(unicorns[colour] >= 0, name + " has no unicorn");
                require(Long.bitCount(paladins[colour]) == 5, name + " does not have 5 paladins");
            }
            require(parts[1].equalsIgnoreCase("w") || parts[1].equalsIgnoreCase("b"), "the side to move is w or b");
            require(parts[2].matches("[0-3]"), "the required band is 0, 1, 2 or 3, not '" + parts[2] + "'");
            toMove = parts[1].equalsIgnoreCase("w") ? WHITE : BLACK;
            required = parts[2].charAt(0) - '0';
        }

        private void put(char letter, int cell) throws BadInput {
            int kind = "BNbn-".indexOf(letter);
            require(kind >= 0, "row " + (cell / SIDE + 1) + " has the character '" + letter + "'");
            if (kind < 2) {
                require(unicorns[kind] < 0, (kind == WHITE ? "white" : "black") + " has two unicorns");
                unicorns[kind] = cell;
            } else if (kind < 4) {
                paladins[kind - 2] |= 1L << cell;
            }
        }

        long pieces(int colour) {
            return paladins[colour] | 1L << unicorns[colour];
        }

        boolean canMove(int cell, int colour) {
            return (pieces(colour) >> cell & 1) == 1 && (required == 0 || required == band(cell));
        }

        /** Ends of free paths that visit no cell twice, as bits; a piece may stand on an end. */
        private static long ends(int cell, int steps, long occupied, long passed) {
            long found = 0;
            for (int direction = 0; direction < 4; direction++) {
                int sign = direction < 2 ? 1 : -1;
                int to = neighbour(cell, direction % 2 * sign, (1 - direction % 2) * sign);
                if (to < 0 || (passed >> to & 1) == 1) {
                    continue;
                }
                if (steps == 1) {
                    found |= 1L << to;
                } else if ((occupied >> to & 1) == 0) {
                    found |= ends(to, steps - 1, occupied, passed | 1L << to);
                }
            }
            return found;
        }

        private long reach(int cell) {
            return ends(cell, band(cell), pieces(WHITE) | pieces(BLACK), 1L << cell);
        }

        /** Cells on which some legal move of a colour ends, as bits. */
        long landings(int colour) {
            long empty = ~(pieces(WHITE) | pieces(BLACK)), found = 0;
            for (int cell = 0; cell < CELLS; cell++) {
                if (canMove(cell, colour)) {
                    boolean captures = cell != unicorns[colour];
                    found |= reach(cell) & (empty | (captures ? 1L << unicorns[1 - colour] : 0));
                }
            }
            return found;
        }

        int escapes(int colour) {
            return Long.bitCount(reach(unicorns[colour]) & ~(pieces(WHITE) | pieces(BLACK)));
        }

        /** Writes both perspectives, the side to move first, then escapes and forced pass. */
        void write(String encoding, float[] view) {
            Arrays.fill(view, 0);
            writePlanes(toMove, encoding, view, 0);
            writePlanes(1 - toMove, encoding, view, PERSPECTIVE);
            view[VIEW - 3] = escapes(toMove) / 16f;
            view[VIEW - 2] = escapes(1 - toMove) / 16f;
            view[VIEW - 1] = landings(toMove) == 0 ? 1 : 0;
        }

        private void writePlanes(int me, String encoding, float[] view, int first) {
            int other = 1 - me;
            long landings = encoding.equals(REACH) ? landings(me) : ~(pieces(WHITE) | pieces(BLACK));
            for (int cell = 0; cell < CELLS; cell++) {
                int at = first + cell;
                view[at] = paladins[me] >> cell & 1;
                view[at + CELLS] = unicorns[me] == cell ? 1 : 0;
                view[at + 2 * CELLS] = paladins[other] >> cell & 1;
                view[at + 3 * CELLS] = unicorns[other] == cell ? 1 : 0;
                view[at + (3 + band(cell)) * CELLS] = 1;
                view[at + 7 * CELLS] = canMove(cell, me) ? 1 : 0;
                view[at + (7 + band(cell)) * CELLS] = landings >> cell & 1;
                long row = 63L << cell / SIDE * SIDE, column = 0x41041041L << cell % SIDE;
                view[at + 11 * CELLS] = Long.bitCount(pieces(me) & row) / 6f;
                view[at + 12 * CELLS] = Long.bitCount(pieces(other) & row) / 6f;
                view[at + 13 * CELLS] = Long.bitCount(pieces(me) & column) / 6f;
                view[at + 14 * CELLS] = Long.bitCount(pieces(other) & column) / 6f;
                int down = 2 - unicorns[me] / SIDE, right = 2 - unicorns[me] % SIDE;
                int shifted = neighbour(cell, down, right);
                if ((paladins[other] >> cell & 1) == 1 && shifted >= 0) {
                    view[first + 15 * CELLS + shifted] = 1;
                }
            }
        }
    }

    // JSON -----------------------------------------------------------------------------------------

    /** Reads JSON into maps, lists, strings, Doubles and Booleans. */
    static final class Json {
        private static final int DEEPEST = 32;
        private final String text;
        private int at = 0;

        Json(String text) {
            this.text = text;
        }

        Object document() throws BadInput {
            Object value = value(0);
            require(peek() == 0, "something follows its end");
            return value;
        }

        private Object value(int depth) throws BadInput {
            require(depth < DEEPEST, "it is nested too deeply");
            char next = peek();
            if (next == '{') {
                return map(depth);
            }
            if (next == '[') {
                return list(depth);
            }
            return next == '"' ? string() : word();
        }

        private Map<String, Object> map(int depth) throws BadInput {
            Map<String, Object> entries = new HashMap<>();
            at++;
            for (boolean first = true; peek() != '}'; first = false) {
                if (!first) {
                    skip(',');
                }
                require(peek() == '"', "a name is missing at character " + at);
                String name = string();
                skip(':');
                entries.put(name, value(depth + 1));
            }
            at++;
            return entries;
        }

        private List<Object> list(int depth) throws BadInput {
            List<Object> entries = new ArrayList<>();
            at++;
            while (peek() != ']') {
                if (!entries.isEmpty()) {
                    skip(',');
                }
                entries.add(value(depth + 1));
            }
            at++;
            return entries;
        }

        private String string() throws BadInput {
            StringBuilder found = new StringBuilder();
            for (at++; at < text.length() && text.charAt(at) != '"'; at++) {
                char letter = text.charAt(at);
                if (letter == '\\') {
                    require(++at < text.length(), "a text does not end");
                    letter = escaped(text.charAt(at));
                }
                found.append(letter);
            }
            require(at < text.length(), "a text does not end");
            at++;
            return found.toString();
        }

        private char escaped(char letter) throws BadInput {
            if (letter == 'u') {
                require(at + 4 < text.length(), "a text does not end");
                String digits = text.substring(at + 1, at + 5);
                require(digits.matches("[0-9a-fA-F]{4}"), "there is a wrong escape at character " + at);
                at += 4;
                return (char) Integer.parseInt(digits, 16);
            }
            int kind = "\"\\/bfnrt".indexOf(letter);
            require(kind >= 0, "there is a wrong escape at character " + at);
            return "\"\\/\b\f\n\r\t".charAt(kind);
        }

        /** A number, true, false or null; NaN and Infinity are numbers that are refused later. */
        private Object word() throws BadInput {
            int first = at;
            while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0
                    || at < text.length() && Character.isLetterOrDigit(text.charAt(at))) {
                at++;
            }
            String word = text.substring(first, at);
            if (word.equals("true") || word.equals("false")) {
                return Boolean.valueOf(word);
            }
            if (word.equals("null")) {
                return null;
            }
            boolean number = word.matches("-?(\\d+(\\.\\d+)?([eE][+-]?\\d+)?|Infinity)|NaN");
            require(number, "it has '" + word + "' at character " + first);
            return Double.valueOf(word);
        }

        private void skip(char wanted) throws BadInput {
            require(peek() == wanted, "'" + wanted + "' is missing at character " + at);
            at++;
        }

        /** The next character that is not blank; 0 at the end. */
        private char peek() {
            while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
                at++;
            }
            return at < text.length() ? text.charAt(at) : 0;
        }
    }
}
